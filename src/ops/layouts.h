// Where the elements of a view lie: the arithmetic behind the view ops and their gradients.
#pragma once
#include "ingot/ops/op.h"

namespace ingot {

/// Shape and strides of a view, and the distance of its first element from the first of what it looks at.
struct Layout {
  Dims shape, strides;
  int64_t offset = 0;
};

/// The view of x that a layout describes.
Tensor view_of(const Tensor& x, const Layout& layout);

/// Fails unless every size is 0 or more; `what` names the attribute.
void require_sizes(const Call& call, const Dims& sizes, const char* what);

/// x[start:stop:step] along one axis, as NumPy does it.
Layout slice_layout(const Call& call, const Dims& shape, const Dims& strides, int64_t axis, int64_t start, int64_t stop,
                    int64_t step);
/// The diagonal of axes a and b as a new last axis.
Layout diagonal_layout(const Call& call, const Dims& shape, const Dims& strides, int64_t a, int64_t b);

}  // namespace ingot
