// One copy of fmt's own code for the modules of libgfxgraph.so (gfxgraph_small): with header-only
// fmt, each module had its own copy, 0.6 MB together. Like fmt's src/format.cc, which Debian ships
// compiled for programs only.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template locale_ref::locale_ref(const std::locale& loc);
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view,
                         basic_format_args<FMT_BUFFER_CONTEXT(type_identity_t<char>)>, locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
