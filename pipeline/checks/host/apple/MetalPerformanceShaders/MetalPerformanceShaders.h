// Stand-in for type checks: declarations only.
#pragma once
#include <Metal/Metal.h>

typedef NSArray<NSNumber*> MPSShape;

typedef NS_ENUM(uint32_t, MPSDataType) {
  MPSDataTypeInvalid = 0,

  MPSDataTypeFloatBit = 0x10000000,
  MPSDataTypeFloat16 = MPSDataTypeFloatBit | 16,
  MPSDataTypeFloat32 = MPSDataTypeFloatBit | 32,

  MPSDataTypeComplexBit = 0x01000000,
  MPSDataTypeComplexFloat16 = MPSDataTypeFloatBit | MPSDataTypeComplexBit | 32,
  MPSDataTypeComplexFloat32 = MPSDataTypeFloatBit | MPSDataTypeComplexBit | 64,

  MPSDataTypeSignedBit = 0x20000000,
  MPSDataTypeInt4 = MPSDataTypeSignedBit | 4,
  MPSDataTypeInt8 = MPSDataTypeSignedBit | 8,
  MPSDataTypeInt16 = MPSDataTypeSignedBit | 16,
  MPSDataTypeInt32 = MPSDataTypeSignedBit | 32,
  MPSDataTypeInt64 = MPSDataTypeSignedBit | 64,

  MPSDataTypeUInt4 = 4,
  MPSDataTypeUInt8 = 8,
  MPSDataTypeUInt16 = 16,
  MPSDataTypeUInt32 = 32,
  MPSDataTypeUInt64 = 64,

  MPSDataTypeAlternateEncodingBit = 0x80000000,
  MPSDataTypeBool = MPSDataTypeAlternateEncodingBit | 8,
  MPSDataTypeBFloat16 = MPSDataTypeAlternateEncodingBit | MPSDataTypeFloatBit | 16,
};

@interface MPSCommandBuffer : NSObject <MTLCommandBuffer>
@property(readonly) id<MTLCommandBuffer> rootCommandBuffer;
+ (instancetype)commandBufferWithCommandBuffer:(id<MTLCommandBuffer>)buffer;
+ (instancetype)commandBufferFromCommandQueue:(id<MTLCommandQueue>)queue;
- (void)commitAndContinue;
@end

@interface MPSKernel : NSObject
- (instancetype)initWithDevice:(id<MTLDevice>)device;
@end

@interface MPSNDArrayDescriptor : NSObject
@property(readwrite, nonatomic) BOOL preferPackedRows;
@property(readwrite, nonatomic) NSUInteger numberOfDimensions;
+ (instancetype)descriptorWithDataType:(MPSDataType)type shape:(MPSShape*)shape;
- (void)transposeDimension:(NSUInteger)dimension withDimension:(NSUInteger)other;
@end

@interface MPSNDArray : NSObject
@property(readonly) MPSDataType dataType;
@property(readonly) NSUInteger numberOfDimensions;
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSNDArrayDescriptor*)descriptor;
- (instancetype)initWithDevice:(id<MTLDevice>)device descriptor:(MPSNDArrayDescriptor*)descriptor;
- (MPSNDArrayDescriptor*)descriptor;
- (MPSNDArray*)arrayViewWithShape:(MPSShape*)shape strides:(MPSShape*)strides;
- (MPSNDArray*)arrayViewWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                               descriptor:(MPSNDArrayDescriptor*)descriptor
                                 aliasing:(NSUInteger)aliasing;
@end

@interface MPSNDArrayUnaryKernel : MPSKernel
@end

@interface MPSNDArrayIdentity : MPSNDArrayUnaryKernel
@end

@interface MPSNDArrayMatrixMultiplication : MPSKernel
@end

@interface MPSMatrixDescriptor : NSObject
@end

@interface MPSMatrix : NSObject
@end

@interface MPSVector : NSObject
@end

@interface MPSImage : NSObject
@end
