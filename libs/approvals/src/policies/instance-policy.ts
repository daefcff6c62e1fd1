import type { Config } from '#platform';

import { type ApprovalPolicy, DEFAULT_POLICY } from './approval-policy.js';

/** The outermost layer, which the operator sets for every workspace. */
export function instancePolicy(config: Config): ApprovalPolicy {
  return { ...DEFAULT_POLICY, default: config.values.TOOL_APPROVAL_DEFAULT };
}
