// Stand-in for type checks: declarations only.
#pragma once
#include <Foundation/Foundation.h>

typedef struct {
  NSUInteger width;
  NSUInteger height;
  NSUInteger depth;
} MTLSize;

typedef struct {
  NSUInteger x;
  NSUInteger y;
  NSUInteger z;
} MTLOrigin;

typedef struct {
  MTLOrigin origin;
  MTLSize size;
} MTLRegion;

static inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
  return MTLSize{width, height, depth};
}

static inline MTLRegion MTLRegionMake1D(NSUInteger x, NSUInteger width) {
  return MTLRegion{{x, 0, 0}, {width, 1, 1}};
}

typedef NS_OPTIONS(NSUInteger, MTLResourceOptions) {
  MTLResourceCPUCacheModeDefaultCache = 0,
  MTLResourceCPUCacheModeWriteCombined = 1,
  MTLResourceStorageModeShared = 0,
  MTLResourceStorageModeManaged = 0x10,
  MTLResourceStorageModePrivate = 0x20,
  MTLResourceHazardTrackingModeDefault = 0,
  MTLResourceHazardTrackingModeUntracked = 0x100,
  MTLResourceHazardTrackingModeTracked = 0x200,
};

typedef NS_OPTIONS(NSUInteger, MTLResourceUsage) {
  MTLResourceUsageRead = 1,
  MTLResourceUsageWrite = 2,
};

typedef NS_OPTIONS(NSUInteger, MTLBarrierScope) {
  MTLBarrierScopeBuffers = 1,
  MTLBarrierScopeTextures = 2,
};

typedef NS_ENUM(NSUInteger, MTLStorageMode) {
  MTLStorageModeShared,
  MTLStorageModeManaged,
  MTLStorageModePrivate,
  MTLStorageModeMemoryless,
};

typedef NS_ENUM(NSUInteger, MTLCPUCacheMode) {
  MTLCPUCacheModeDefaultCache,
  MTLCPUCacheModeWriteCombined,
};

typedef NS_ENUM(NSUInteger, MTLHazardTrackingMode) {
  MTLHazardTrackingModeDefault,
  MTLHazardTrackingModeUntracked,
  MTLHazardTrackingModeTracked,
};

typedef NS_ENUM(NSInteger, MTLHeapType) {
  MTLHeapTypeAutomatic,
  MTLHeapTypePlacement,
};

typedef NS_ENUM(NSUInteger, MTLPurgeableState) {
  MTLPurgeableStateKeepCurrent = 1,
  MTLPurgeableStateNonVolatile,
  MTLPurgeableStateVolatile,
  MTLPurgeableStateEmpty,
};

typedef NS_ENUM(NSUInteger, MTLLanguageVersion) {
  MTLLanguageVersion2_3 = 0x20003,
  MTLLanguageVersion2_4 = 0x20004,
  MTLLanguageVersion3_0 = 0x30000,
  MTLLanguageVersion3_1 = 0x30001,
  MTLLanguageVersion3_2 = 0x30002,
};

typedef NS_ENUM(NSInteger, MTLGPUFamily) {
  MTLGPUFamilyApple7 = 1007,
  MTLGPUFamilyApple8 = 1008,
  MTLGPUFamilyApple9 = 1009,
  MTLGPUFamilyMac2 = 2002,
  MTLGPUFamilyMetal3 = 5001,
};

typedef NS_ENUM(NSInteger, MTLMathMode) {
  MTLMathModeSafe,
  MTLMathModeRelaxed,
  MTLMathModeFast,
};

typedef NS_ENUM(NSInteger, MTLMathFloatingPointFunctions) {
  MTLMathFloatingPointFunctionsFast,
  MTLMathFloatingPointFunctionsPrecise,
};

typedef NS_ENUM(NSUInteger, MTLDataType) {
  MTLDataTypeNone = 0,
  MTLDataTypeFloat = 3,
  MTLDataTypeHalf = 16,
  MTLDataTypeInt = 29,
  MTLDataTypeUInt = 33,
  MTLDataTypeShort = 37,
  MTLDataTypeBool = 53,
};

typedef NS_ENUM(NSUInteger, MTLDispatchType) {
  MTLDispatchTypeSerial,
  MTLDispatchTypeConcurrent,
};

typedef NS_ENUM(NSUInteger, MTLCommandBufferStatus) {
  MTLCommandBufferStatusNotEnqueued,
  MTLCommandBufferStatusEnqueued,
  MTLCommandBufferStatusCommitted,
  MTLCommandBufferStatusScheduled,
  MTLCommandBufferStatusCompleted,
  MTLCommandBufferStatusError,
};

@protocol MTLArgumentEncoder, MTLBlitCommandEncoder, MTLBuffer, MTLCommandBuffer, MTLCommandQueue;
@protocol MTLComputeCommandEncoder, MTLComputePipelineState, MTLDevice, MTLEvent, MTLFunction, MTLHeap, MTLLibrary;
@protocol MTLSharedEvent;

@interface MTLCompileOptions : NSObject
@property(readwrite, nonatomic) MTLLanguageVersion languageVersion;
@property(readwrite, nonatomic) BOOL fastMathEnabled;
@property(readwrite, nonatomic) MTLMathMode mathMode;
@property(readwrite, nonatomic) MTLMathFloatingPointFunctions mathFloatingPointFunctions;
@property(readwrite, nonatomic, copy) NSDictionary<NSString*, NSObject*>* preprocessorMacros;
@end

@interface MTLHeapDescriptor : NSObject
@property(readwrite, nonatomic) NSUInteger size;
@property(readwrite, nonatomic) MTLStorageMode storageMode;
@property(readwrite, nonatomic) MTLCPUCacheMode cpuCacheMode;
@property(readwrite, nonatomic) MTLHazardTrackingMode hazardTrackingMode;
@property(readwrite, nonatomic) MTLHeapType type;
@end

@interface MTLCaptureManager : NSObject
@end

@interface MTLFunctionConstantValues : NSObject
- (void)setConstantValue:(const void*)value type:(MTLDataType)type atIndex:(NSUInteger)index;
@end

@protocol MTLResource <NSObject>
@property(readonly) id<MTLDevice> device;
@property(readonly) NSUInteger allocatedSize;
@property(readonly) MTLStorageMode storageMode;
@property(copy, atomic) NSString* label;
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state;
@end

@protocol MTLBuffer <MTLResource>
@property(readonly) NSUInteger length;
@property(readonly) uint64_t gpuAddress;
- (void*)contents;
- (void)didModifyRange:(NSRange)range;
@end

@protocol MTLHeap <NSObject>
@property(readonly) NSUInteger size;
@property(readonly) NSUInteger usedSize;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment;
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state;
@end

@protocol MTLFunction <NSObject>
@property(readonly) NSString* name;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index;
@end

@protocol MTLLibrary <NSObject>
@property(readonly) NSArray<NSString*>* functionNames;
@property(readonly) id<MTLDevice> device;
- (id<MTLFunction>)newFunctionWithName:(NSString*)name;
- (id<MTLFunction>)newFunctionWithName:(NSString*)name
                        constantValues:(MTLFunctionConstantValues*)values
                                 error:(NSError**)error;
@end

@protocol MTLComputePipelineState <NSObject>
@property(readonly) id<MTLDevice> device;
@property(readonly) NSString* label;
@property(readonly) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readonly) NSUInteger threadExecutionWidth;
@property(readonly) NSUInteger staticThreadgroupMemoryLength;
@end

@protocol MTLDevice <NSObject>
@property(readonly) NSString* name;
@property(readonly) NSUInteger maxThreadgroupMemoryLength;
@property(readonly) NSUInteger maxBufferLength;
@property(readonly) NSUInteger currentAllocatedSize;
@property(readonly) uint64_t recommendedMaxWorkingSetSize;
@property(readonly) BOOL hasUnifiedMemory;
@property(readonly) MTLSize maxThreadsPerThreadgroup;
- (BOOL)supportsFamily:(MTLGPUFamily)family;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytes:(const void*)bytes length:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)bytes
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void* bytes, NSUInteger length))deallocator;
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source options:(MTLCompileOptions*)options error:(NSError**)error;
- (id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError**)error;
- (id<MTLLibrary>)newLibraryWithURL:(NSURL*)url error:(NSError**)error;
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError**)error;
- (id<MTLCommandQueue>)newCommandQueue;
- (id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor*)descriptor;
- (id<MTLSharedEvent>)newSharedEvent;
@end

@protocol MTLCommandEncoder <NSObject>
@property(copy, atomic) NSString* label;
- (void)endEncoding;
- (void)pushDebugGroup:(NSString*)name;
- (void)popDebugGroup;
@end

@protocol MTLComputeCommandEncoder <MTLCommandEncoder>
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBuffers:(const id<MTLBuffer> __unsafe_unretained[])buffers
           offsets:(const NSUInteger[])offsets
         withRange:(NSRange)range;
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)dispatchThreads:(MTLSize)threads threadsPerThreadgroup:(MTLSize)group;
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)group;
- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)buffer
                          indirectBufferOffset:(NSUInteger)offset
                         threadsPerThreadgroup:(MTLSize)group;
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage;
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope;
- (void)memoryBarrierWithResources:(const id<MTLResource> __unsafe_unretained[])resources count:(NSUInteger)count;
@end

@protocol MTLBlitCommandEncoder <MTLCommandEncoder>
- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)destination
     destinationOffset:(NSUInteger)destinationOffset
                  size:(NSUInteger)size;
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value;
- (void)synchronizeResource:(id<MTLResource>)resource;
@end

@protocol MTLArgumentEncoder <NSObject>
@property(readonly) NSUInteger encodedLength;
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void*)constantDataAtIndex:(NSUInteger)index;
@end

typedef void (^MTLCommandBufferHandler)(id<MTLCommandBuffer> buffer);

@protocol MTLCommandBuffer <NSObject>
@property(readonly) MTLCommandBufferStatus status;
@property(readonly) NSError* error;
@property(copy, atomic) NSString* label;
- (id<MTLComputeCommandEncoder>)computeCommandEncoder;
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type;
- (id<MTLBlitCommandEncoder>)blitCommandEncoder;
- (void)enqueue;
- (void)commit;
- (void)waitUntilCompleted;
- (void)addCompletedHandler:(MTLCommandBufferHandler)handler;
- (void)addScheduledHandler:(MTLCommandBufferHandler)handler;
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value;
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value;
@end

@protocol MTLCommandQueue <NSObject>
@property(readonly) id<MTLDevice> device;
- (id<MTLCommandBuffer>)commandBuffer;
@end

@protocol MTLEvent <NSObject>
@end

@protocol MTLSharedEvent <MTLEvent>
@property(readwrite) uint64_t signaledValue;
@end

@interface MTLSharedEventListener : NSObject
@end

extern "C" id<MTLDevice> MTLCreateSystemDefaultDevice(void);
extern "C" NSArray<id<MTLDevice>>* MTLCopyAllDevices(void);
