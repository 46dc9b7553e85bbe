// Stand-in for type checks: declarations only, and of MPSGraph's methods only the arithmetic.
#pragma once
#include <MetalPerformanceShaders/MetalPerformanceShaders.h>

typedef NS_ENUM(NSInteger, MPSGraphScatterMode) {
  MPSGraphScatterModeAdd,
  MPSGraphScatterModeSub,
  MPSGraphScatterModeMul,
  MPSGraphScatterModeDiv,
  MPSGraphScatterModeMin,
  MPSGraphScatterModeMax,
  MPSGraphScatterModeSet,
};

typedef NS_ENUM(NSUInteger, MPSGraphTensorNamedDataLayout) {
  MPSGraphTensorNamedDataLayoutNCHW,
  MPSGraphTensorNamedDataLayoutNHWC,
  MPSGraphTensorNamedDataLayoutOIHW,
  MPSGraphTensorNamedDataLayoutHWIO,
  MPSGraphTensorNamedDataLayoutCHW,
  MPSGraphTensorNamedDataLayoutHWC,
  MPSGraphTensorNamedDataLayoutHW,
};

typedef NS_ENUM(NSInteger, MPSGraphPaddingMode) {
  MPSGraphPaddingModeConstant,
  MPSGraphPaddingModeReflect,
  MPSGraphPaddingModeSymmetric,
  MPSGraphPaddingModeClampToEdge,
  MPSGraphPaddingModeZero,
  MPSGraphPaddingModePeriodic,
  MPSGraphPaddingModeAntiPeriodic,
};

typedef NS_ENUM(NSUInteger, MPSGraphPaddingStyle) {
  MPSGraphPaddingStyleExplicit,
  MPSGraphPaddingStyleTF_VALID,
  MPSGraphPaddingStyleTF_SAME,
  MPSGraphPaddingStyleExplicitOffset,
};

typedef NS_ENUM(NSUInteger, MPSGraphResizeMode) {
  MPSGraphResizeNearest,
  MPSGraphResizeBilinear,
};

typedef NS_ENUM(NSUInteger, MPSGraphResizeNearestRoundingMode) {
  MPSGraphResizeNearestRoundingModeRoundPreferCeil,
  MPSGraphResizeNearestRoundingModeRoundPreferFloor,
  MPSGraphResizeNearestRoundingModeCeil,
  MPSGraphResizeNearestRoundingModeFloor,
  MPSGraphResizeNearestRoundingModeRoundToEven,
  MPSGraphResizeNearestRoundingModeRoundToOdd,
};

@interface MPSGraphObject : NSObject
@end

@interface MPSGraphOperation : MPSGraphObject
@end

@interface MPSGraphTensor : MPSGraphObject <NSCopying>
@property(readonly) MPSShape* shape;
@property(readonly) MPSDataType dataType;
@property(readonly) MPSGraphOperation* operation;
@end

@interface MPSGraphTensorData : MPSGraphObject
@property(readonly) MPSShape* shape;
@property(readonly) MPSDataType dataType;
- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer shape:(MPSShape*)shape dataType:(MPSDataType)type;
- (instancetype)initWithMPSNDArray:(MPSNDArray*)array;
- (MPSNDArray*)mpsndarray;
@end

@interface MPSGraphDevice : MPSGraphObject
@end

@interface MPSGraphExecutable : MPSGraphObject
@end

@interface MPSGraphExecutionDescriptor : MPSGraphObject
@end

@interface MPSGraphCompilationDescriptor : MPSGraphObject
@end

@interface MPSGraphConvolution2DOpDescriptor : MPSGraphObject
@end

@interface MPSGraphConvolution3DOpDescriptor : MPSGraphObject
@end

@interface MPSGraphDepthwiseConvolution3DOpDescriptor : MPSGraphObject
@end

@interface MPSGraphPooling2DOpDescriptor : MPSGraphObject
@end

@interface MPSGraphPooling4DOpDescriptor : MPSGraphObject
@end

@interface MPSGraphLSTMDescriptor : MPSGraphObject
@end

@interface MPSGraphGRUDescriptor : MPSGraphObject
@end

@interface MPSGraphFFTDescriptor : MPSGraphObject
@end

@interface MPSGraphRandomOpDescriptor : MPSGraphObject
@end

#define GRAPH_UNARY(operation) -(MPSGraphTensor*)operation##WithTensor : (MPSGraphTensor*)tensor name : (NSString*)name

#define GRAPH_BINARY(operation)                               \
  -(MPSGraphTensor*)operation##WithPrimaryTensor              \
      : (MPSGraphTensor*)primary secondaryTensor              \
      : (MPSGraphTensor*)secondary name                       \
      : (NSString*)name

#define GRAPH_REDUCTION(operation)                                                                                    \
  -(MPSGraphTensor*)operation##WithTensor : (MPSGraphTensor*)tensor axis : (NSInteger)axis name : (NSString*)name;    \
  -(MPSGraphTensor*)operation##WithTensor : (MPSGraphTensor*)tensor axes : (NSArray<NSNumber*>*)axes name : (NSString*) \
      name

@interface MPSGraph : MPSGraphObject

- (MPSGraphTensor*)placeholderWithShape:(MPSShape*)shape dataType:(MPSDataType)type name:(NSString*)name;
- (MPSGraphTensor*)constantWithData:(NSData*)data shape:(MPSShape*)shape dataType:(MPSDataType)type;
- (MPSGraphTensor*)constantWithScalar:(double)scalar dataType:(MPSDataType)type;
- (MPSGraphTensor*)constantWithScalar:(double)scalar shape:(MPSShape*)shape dataType:(MPSDataType)type;
- (MPSGraphTensor*)castTensor:(MPSGraphTensor*)tensor toType:(MPSDataType)type name:(NSString*)name;

GRAPH_UNARY(absolute);
GRAPH_UNARY(acos);
GRAPH_UNARY(acosh);
GRAPH_UNARY(asin);
GRAPH_UNARY(asinh);
GRAPH_UNARY(atan);
GRAPH_UNARY(atanh);
GRAPH_UNARY(bitwiseNOT);
GRAPH_UNARY(ceil);
GRAPH_UNARY(conjugate);
GRAPH_UNARY(cos);
GRAPH_UNARY(cosh);
GRAPH_UNARY(erf);
GRAPH_UNARY(exponent);
GRAPH_UNARY(exponentBase10);
GRAPH_UNARY(exponentBase2);
GRAPH_UNARY(floor);
GRAPH_UNARY(identity);
GRAPH_UNARY(isFinite);
GRAPH_UNARY(isInfinite);
GRAPH_UNARY(isNaN);
GRAPH_UNARY(logarithm);
GRAPH_UNARY(logarithmBase10);
GRAPH_UNARY(logarithmBase2);
GRAPH_UNARY(negative);
GRAPH_UNARY(not);
GRAPH_UNARY(reLU);
GRAPH_UNARY(reciprocal);
GRAPH_UNARY(reciprocalSquareRoot);
GRAPH_UNARY(reverseSquareRoot);
GRAPH_UNARY(rint);
GRAPH_UNARY(round);
GRAPH_UNARY(sigmoid);
GRAPH_UNARY(sign);
GRAPH_UNARY(signbit);
GRAPH_UNARY(sin);
GRAPH_UNARY(sinh);
GRAPH_UNARY(square);
GRAPH_UNARY(squareRoot);
GRAPH_UNARY(tan);
GRAPH_UNARY(tanh);
GRAPH_UNARY(truncate);
- (MPSGraphTensor*)imaginaryPartOfTensor:(MPSGraphTensor*)tensor name:(NSString*)name;
- (MPSGraphTensor*)realPartOfTensor:(MPSGraphTensor*)tensor name:(NSString*)name;

GRAPH_BINARY(addition);
GRAPH_BINARY(atan2);
GRAPH_BINARY(bitwiseAND);
GRAPH_BINARY(bitwiseLeftShift);
GRAPH_BINARY(bitwiseOR);
GRAPH_BINARY(bitwiseRightShift);
GRAPH_BINARY(bitwiseXOR);
GRAPH_BINARY(division);
GRAPH_BINARY(equal);
GRAPH_BINARY(greaterThan);
GRAPH_BINARY(greaterThanOrEqualTo);
GRAPH_BINARY(lessThan);
GRAPH_BINARY(lessThanOrEqualTo);
GRAPH_BINARY(logicalAND);
GRAPH_BINARY(logicalOR);
GRAPH_BINARY(logicalXOR);
GRAPH_BINARY(matrixMultiplication);
GRAPH_BINARY(maximum);
GRAPH_BINARY(maximumWithNaNPropagation);
GRAPH_BINARY(minimum);
GRAPH_BINARY(minimumWithNaNPropagation);
GRAPH_BINARY(modulo);
GRAPH_BINARY(multiplication);
GRAPH_BINARY(notEqual);
GRAPH_BINARY(power);
GRAPH_BINARY(subtraction);

GRAPH_REDUCTION(reductionAnd);
GRAPH_REDUCTION(reductionMaximum);
GRAPH_REDUCTION(reductionMaximumPropagateNaN);
GRAPH_REDUCTION(reductionMinimum);
GRAPH_REDUCTION(reductionMinimumPropagateNaN);
GRAPH_REDUCTION(reductionOr);
GRAPH_REDUCTION(reductionProduct);
GRAPH_REDUCTION(reductionSum);
- (MPSGraphTensor*)meanOfTensor:(MPSGraphTensor*)tensor axes:(NSArray<NSNumber*>*)axes name:(NSString*)name;
- (MPSGraphTensor*)varianceOfTensor:(MPSGraphTensor*)tensor axes:(NSArray<NSNumber*>*)axes name:(NSString*)name;
- (MPSGraphTensor*)cumulativeProductWithTensor:(MPSGraphTensor*)tensor axis:(NSInteger)axis name:(NSString*)name;
- (MPSGraphTensor*)cumulativeSumWithTensor:(MPSGraphTensor*)tensor axis:(NSInteger)axis name:(NSString*)name;
- (MPSGraphTensor*)softMaxWithTensor:(MPSGraphTensor*)tensor axis:(NSInteger)axis name:(NSString*)name;

- (MPSGraphTensor*)clampWithTensor:(MPSGraphTensor*)tensor
                    minValueTensor:(MPSGraphTensor*)low
                    maxValueTensor:(MPSGraphTensor*)high
                              name:(NSString*)name;
- (MPSGraphTensor*)selectWithPredicateTensor:(MPSGraphTensor*)predicate
                         truePredicateTensor:(MPSGraphTensor*)chosen
                        falsePredicateTensor:(MPSGraphTensor*)other
                                        name:(NSString*)name;

- (MPSGraphTensor*)argSortWithTensor:(MPSGraphTensor*)tensor axis:(NSInteger)axis name:(NSString*)name;
- (MPSGraphTensor*)argSortWithTensor:(MPSGraphTensor*)tensor
                                axis:(NSInteger)axis
                          descending:(BOOL)descending
                                name:(NSString*)name;
- (MPSGraphTensor*)reductionArgMaximumWithTensor:(MPSGraphTensor*)tensor axis:(NSInteger)axis name:(NSString*)name;
- (MPSGraphTensor*)reductionArgMinimumWithTensor:(MPSGraphTensor*)tensor axis:(NSInteger)axis name:(NSString*)name;
- (MPSGraphTensor*)sortWithTensor:(MPSGraphTensor*)tensor axis:(NSInteger)axis name:(NSString*)name;
- (MPSGraphTensor*)sortWithTensor:(MPSGraphTensor*)tensor
                             axis:(NSInteger)axis
                       descending:(BOOL)descending
                             name:(NSString*)name;

- (MPSGraphTensor*)broadcastTensor:(MPSGraphTensor*)tensor toShape:(MPSShape*)shape name:(NSString*)name;
- (MPSGraphTensor*)concatTensor:(MPSGraphTensor*)tensor
                     withTensor:(MPSGraphTensor*)other
                      dimension:(NSInteger)dimension
                           name:(NSString*)name;
- (MPSGraphTensor*)concatTensors:(NSArray<MPSGraphTensor*>*)tensors dimension:(NSInteger)dimension name:(NSString*)name;
- (MPSGraphTensor*)coordinateAlongAxis:(NSInteger)axis withShape:(MPSShape*)shape name:(NSString*)name;
- (MPSGraphTensor*)depthToSpace2DTensor:(MPSGraphTensor*)tensor
                              widthAxis:(NSUInteger)width
                             heightAxis:(NSUInteger)height
                              depthAxis:(NSUInteger)depth
                              blockSize:(NSUInteger)size
                   usePixelShuffleOrder:(BOOL)usePixelShuffleOrder
                                   name:(NSString*)name;
- (MPSGraphTensor*)expandDimsOfTensor:(MPSGraphTensor*)tensor axis:(NSInteger)axis name:(NSString*)name;
- (MPSGraphTensor*)expandDimsOfTensor:(MPSGraphTensor*)tensor axes:(NSArray<NSNumber*>*)axes name:(NSString*)name;
- (MPSGraphTensor*)reshapeTensor:(MPSGraphTensor*)tensor withShape:(MPSShape*)shape name:(NSString*)name;
- (MPSGraphTensor*)reverseTensor:(MPSGraphTensor*)tensor axes:(NSArray<NSNumber*>*)axes name:(NSString*)name;
- (MPSGraphTensor*)shapeOfTensor:(MPSGraphTensor*)tensor name:(NSString*)name;
- (MPSGraphTensor*)sliceTensor:(MPSGraphTensor*)tensor
                     dimension:(NSUInteger)dimension
                         start:(NSInteger)start
                        length:(NSInteger)length
                          name:(NSString*)name;
- (MPSGraphTensor*)sliceTensor:(MPSGraphTensor*)tensor
                        starts:(NSArray<NSNumber*>*)starts
                          ends:(NSArray<NSNumber*>*)ends
                       strides:(NSArray<NSNumber*>*)strides
                          name:(NSString*)name;
- (MPSGraphTensor*)spaceToDepth2DTensor:(MPSGraphTensor*)tensor
                              widthAxis:(NSUInteger)width
                             heightAxis:(NSUInteger)height
                              depthAxis:(NSUInteger)depth
                              blockSize:(NSUInteger)size
                   usePixelShuffleOrder:(BOOL)usePixelShuffleOrder
                                   name:(NSString*)name;
- (NSArray<MPSGraphTensor*>*)splitTensor:(MPSGraphTensor*)tensor
                               numSplits:(NSUInteger)count
                                    axis:(NSInteger)axis
                                    name:(NSString*)name;
- (MPSGraphTensor*)squeezeTensor:(MPSGraphTensor*)tensor axis:(NSInteger)axis name:(NSString*)name;
- (MPSGraphTensor*)squeezeTensor:(MPSGraphTensor*)tensor axes:(NSArray<NSNumber*>*)axes name:(NSString*)name;
- (MPSGraphTensor*)tileTensor:(MPSGraphTensor*)tensor withMultiplier:(MPSShape*)multiplier name:(NSString*)name;
- (MPSGraphTensor*)transposeTensor:(MPSGraphTensor*)tensor
                         dimension:(NSUInteger)dimension
                     withDimension:(NSUInteger)other
                              name:(NSString*)name;

- (MPSGraphTensor*)padTensor:(MPSGraphTensor*)tensor
             withPaddingMode:(MPSGraphPaddingMode)mode
                 leftPadding:(MPSShape*)left
                rightPadding:(MPSShape*)right
               constantValue:(double)value
                        name:(NSString*)name;
- (MPSGraphTensor*)gatherAlongAxis:(NSInteger)axis
                 withUpdatesTensor:(MPSGraphTensor*)updates
                     indicesTensor:(MPSGraphTensor*)indices
                              name:(NSString*)name;
- (MPSGraphTensor*)gatherWithUpdatesTensor:(MPSGraphTensor*)updates
                             indicesTensor:(MPSGraphTensor*)indices
                                      axis:(NSUInteger)axis
                           batchDimensions:(NSUInteger)count
                                      name:(NSString*)name;
- (MPSGraphTensor*)oneHotWithIndicesTensor:(MPSGraphTensor*)indices
                                     depth:(NSUInteger)depth
                                      axis:(NSUInteger)axis
                                  dataType:(MPSDataType)type
                                   onValue:(double)on
                                  offValue:(double)off
                                      name:(NSString*)name;
- (MPSGraphTensor*)scatterAlongAxis:(NSInteger)axis
                  withUpdatesTensor:(MPSGraphTensor*)updates
                      indicesTensor:(MPSGraphTensor*)indices
                              shape:(MPSShape*)shape
                               mode:(MPSGraphScatterMode)mode
                               name:(NSString*)name;
- (MPSGraphTensor*)scatterWithDataTensor:(MPSGraphTensor*)data
                           updatesTensor:(MPSGraphTensor*)updates
                           indicesTensor:(MPSGraphTensor*)indices
                                    axis:(NSInteger)axis
                                    mode:(MPSGraphScatterMode)mode
                                    name:(NSString*)name;

@end

#undef GRAPH_UNARY
#undef GRAPH_BINARY
#undef GRAPH_REDUCTION
