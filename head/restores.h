// The head's decisions about a restore of a backup.
#ifndef KAMINO_HEAD_RESTORES_H_
#define KAMINO_HEAD_RESTORES_H_

#include "absl/status/status.h"
#include "head/head_context.h"
#include "head/request.h"

namespace kamino::head {

// Such a request is alone in its entry, and numbers after it are skipped.
bool BeginsRestore(const Request& request);

// Checks that its objects fit, and sets the numbers it skips.
absl::Status PrepareRestore(const HeadContext& context,
                            replica::Mutation* mutation);

}  // namespace kamino::head

#endif  // KAMINO_HEAD_RESTORES_H_
