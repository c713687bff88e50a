// Which chain of a cluster. So far a cluster has one.
#ifndef KAMINO_BASE_CHAIN_ID_H_
#define KAMINO_BASE_CHAIN_ID_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace kamino {

// From 1, which is so on the wire and on media. 0 in a request: the only chain.
using ChainId = uint32_t;

inline constexpr ChainId kOnlyChain = 1;

// Whether a request that names `asked` is one for chain `served`.
constexpr bool IsForChain(ChainId asked, ChainId served) {
  return asked == 0 || asked == served;
}

// kInvalidArgument: it is for another one.
inline absl::Status CheckChain(ChainId asked, ChainId served) {
  if (IsForChain(asked, served)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("chain ", asked, " was asked for; here is chain ", served));
}

}  // namespace kamino

#endif  // KAMINO_BASE_CHAIN_ID_H_
