#include "runtime/kernels/buffer.h"

#include <Eigen/Core>

namespace scry {

void RealBuffer::add(int64_t first, const RealBuffer& other, int64_t from, int64_t count) {
  visit([&](auto* to) {
    using Array = Eigen::Array<std::remove_pointer_t<decltype(to)>, Eigen::Dynamic, 1>;
    const auto* theirs = static_cast<const typename Array::Scalar*>(other.at(from));
    Eigen::Map<Array>(to + first, count) += Eigen::Map<const Array>(theirs, count);
  });
}

}  // namespace scry
