#include <algorithm>

#include "exchange/c/families.h"

namespace ingot::exchange {

const OpForm* find_op_form(std::string_view op) {
  for (const auto& family :
       {move_forms(), index_forms(), reduce_forms(), softmax_forms(), norm_forms(), conv_forms(), pool_forms(),
        product_forms(), optimizer_forms(), random_forms(), recurrent_forms(), attention_forms()}) {
    const auto found = std::find_if(family.begin(), family.end(), [&](const OpForm& f) { return f.op == op; });
    if (found != family.end()) return &*found;
  }
  return nullptr;
}

}  // namespace ingot::exchange
