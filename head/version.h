#ifndef KAMINO_HEAD_VERSION_H_
#define KAMINO_HEAD_VERSION_H_

namespace kamino::head {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace kamino::head

#endif  // KAMINO_HEAD_VERSION_H_
