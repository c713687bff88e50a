// The output of `kamino_node --config_example` and `kamino_manager
// --config_example`, for a program that has neither of them.
#ifndef KAMINO_DEPLOY_CONFIG_SERVER_EXAMPLES_H_
#define KAMINO_DEPLOY_CONFIG_SERVER_EXAMPLES_H_

namespace kamino {

extern const char kNodeExample[];
extern const char kManagerExample[];

}  // namespace kamino

#endif  // KAMINO_DEPLOY_CONFIG_SERVER_EXAMPLES_H_
