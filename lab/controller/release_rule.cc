#include "lab/controller/release_rule.h"

#include <algorithm>

namespace kamino::bench::controller {

void WatermarkRule::Open(WrapNumber wrap) {
  open_.insert(wrap);
  last_ = wrap;
}

bool WatermarkRule::MayGo(Tag* tag) const {
  return open_.empty() || *tag < *open_.begin();
}

bool DependenceSetRule::MayGo(Tag* tag) const {
  const auto retired = [this](WrapNumber wrap) {
    return open_.count(wrap) == 0;
  };
  tag->erase(std::remove_if(tag->begin(), tag->end(), retired), tag->end());
  return tag->empty();
}

}  // namespace kamino::bench::controller
