// The ids that users choose for clusters and nodes.
#ifndef KAMINO_BASE_IDS_H_
#define KAMINO_BASE_IDS_H_

#include "absl/strings/string_view.h"

namespace kamino {

// For errors. The heap's label holds the ids of its cluster and node, which
// limits their length.
inline constexpr absl::string_view kIdRule = "1 to 48 letters, digits or -_.";

bool IsId(absl::string_view id);

}  // namespace kamino

#endif  // KAMINO_BASE_IDS_H_
