// The line of `kamino status` about the scrub.
#ifndef KAMINO_CLIENT_CLI_SCRUB_LINE_H_
#define KAMINO_CLIENT_CLI_SCRUB_LINE_H_

#include <string>

#include "kamino/v1/member.pb.h"

namespace kamino::client {

// The scrub's progress and its results, as the head knows them.
std::string ScrubLine(const kamino::v1::ScrubStatus& scrub);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_SCRUB_LINE_H_
