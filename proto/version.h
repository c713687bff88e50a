// The release of this tree, shared by all its programs.
#ifndef KAMINO_PROTO_VERSION_H_
#define KAMINO_PROTO_VERSION_H_

namespace kamino {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace kamino

#endif  // KAMINO_PROTO_VERSION_H_
