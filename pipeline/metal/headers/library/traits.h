// <metal_type_traits>. As on Metal, is_floating_point and is_integral look through vector types, is_scalar does not.
#pragma once
#include "bfloat.h"

namespace metal {

template <class T, T Value>
struct integral_constant {
  static constexpr T value = Value;
  using value_type = T;
  using type = integral_constant;
  constexpr operator T() const { return Value; }
};
template <bool B>
using bool_constant = integral_constant<bool, B>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};
template <bool B, class T = void>
using enable_if_t = typename enable_if<B, T>::type;

template <bool, class Then, class Else>
struct conditional {
  using type = Then;
};
template <class Then, class Else>
struct conditional<false, Then, Else> {
  using type = Else;
};
template <bool B, class Then, class Else>
using conditional_t = typename conditional<B, Then, Else>::type;

template <class...>
using void_t = void;

template <class A, class B>
struct is_same : false_type {};
template <class A>
struct is_same<A, A> : true_type {};
template <class A, class B>
constexpr bool is_same_v = is_same<A, B>::value;

template <class T>
using remove_reference_t = __remove_reference_t(T);
template <class T>
using remove_cv_t = __remove_cv(T);
template <class T>
using remove_const_t = __remove_const(T);
template <class T>
using remove_volatile_t = __remove_volatile(T);
template <class T>
using remove_pointer_t = __remove_pointer(T);
template <class T>
using add_const_t = const T;
template <class T>
using decay_t = __decay(T);
template <class T>
using make_unsigned_t = __make_unsigned(T);
template <class T>
using make_signed_t = __make_signed(T);
template <class T>
using underlying_type_t = __underlying_type(T);

template <class T>
T&& declval() noexcept;

template <class T, int N>
struct vec;

}  // namespace metal

namespace metal_cpu {

// The element type and the number of elements of a scalar or a vector.
template <class T>
struct elements {
  using type = T;
  static constexpr int count = 1;
};
template <class T, int N>
struct elements<metal::vec<T, N>> {
  using type = T;
  static constexpr int count = N;
};
template <class T>
using element_t = typename elements<metal::remove_cv_t<T>>::type;

template <class T>
struct identity {
  using type = T;
};

}  // namespace metal_cpu

namespace metal {

template <class T>
constexpr bool is_floating_point_v = __is_floating_point(metal_cpu::element_t<T>) ||
                                     is_same_v<metal_cpu::element_t<T>, bfloat>;
template <class T>
constexpr bool is_integral_v = __is_integral(metal_cpu::element_t<T>);
template <class T>
constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <class T>
constexpr bool is_signed_v = is_floating_point_v<T> || __is_signed(metal_cpu::element_t<T>);
template <class T>
constexpr bool is_unsigned_v = is_integral_v<T> && !is_signed_v<T>;
template <class T>
constexpr bool is_vector_v = (metal_cpu::elements<remove_cv_t<T>>::count > 1);
template <class T>
constexpr bool is_scalar_v = !is_vector_v<T> && (is_arithmetic_v<T> || __is_scalar(T));
template <class T>
constexpr bool is_enum_v = __is_enum(T);
template <class T>
constexpr bool is_union_v = __is_union(T);
template <class T>
constexpr bool is_class_v = __is_class(T);
template <class T>
constexpr bool is_pointer_v = __is_pointer(T);
template <class T>
constexpr bool is_reference_v = __is_reference(T);
template <class T>
constexpr bool is_array_v = __is_array(T);
template <class T>
constexpr bool is_void_v = __is_void(T);
template <class T>
constexpr bool is_const_v = __is_const(T);
template <class T>
constexpr bool is_empty_v = __is_empty(T);
template <class T>
constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);
template <class From, class To>
constexpr bool is_convertible_v = __is_convertible(From, To);
template <class Base, class Derived>
constexpr bool is_base_of_v = __is_base_of(Base, Derived);

#define METAL_CPU_TRAIT(NAME) \
  template <class T>          \
  struct NAME : bool_constant<NAME##_v<T>> {};
METAL_CPU_TRAIT(is_floating_point)
METAL_CPU_TRAIT(is_integral)
METAL_CPU_TRAIT(is_arithmetic)
METAL_CPU_TRAIT(is_signed)
METAL_CPU_TRAIT(is_unsigned)
METAL_CPU_TRAIT(is_vector)
METAL_CPU_TRAIT(is_scalar)
METAL_CPU_TRAIT(is_enum)
METAL_CPU_TRAIT(is_class)
METAL_CPU_TRAIT(is_pointer)
METAL_CPU_TRAIT(is_reference)
METAL_CPU_TRAIT(is_array)
METAL_CPU_TRAIT(is_void)
METAL_CPU_TRAIT(is_const)
METAL_CPU_TRAIT(is_trivially_copyable)
#undef METAL_CPU_TRAIT
template <class From, class To>
struct is_convertible : bool_constant<is_convertible_v<From, To>> {};

#define METAL_CPU_TRANSFORM(NAME) \
  template <class T>              \
  struct NAME {                   \
    using type = NAME##_t<T>;     \
  };
METAL_CPU_TRANSFORM(remove_reference)
METAL_CPU_TRANSFORM(remove_cv)
METAL_CPU_TRANSFORM(remove_const)
METAL_CPU_TRANSFORM(remove_volatile)
METAL_CPU_TRANSFORM(remove_pointer)
METAL_CPU_TRANSFORM(decay)
METAL_CPU_TRANSFORM(make_unsigned)
METAL_CPU_TRANSFORM(make_signed)
#undef METAL_CPU_TRANSFORM

}  // namespace metal
