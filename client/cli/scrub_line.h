// What status says of the comparisons of what nodes hold.
#ifndef KAMINO_CLIENT_CLI_SCRUB_LINE_H_
#define KAMINO_CLIENT_CLI_SCRUB_LINE_H_

#include <string>

#include "kamino/v1/member.pb.h"

namespace kamino::client {

// How far the nodes have compared what they hold, and what they found, as the
// head knows.
std::string ScrubLine(const kamino::v1::ScrubStatus& scrub);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_SCRUB_LINE_H_
