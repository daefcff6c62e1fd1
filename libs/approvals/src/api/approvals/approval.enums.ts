import { registerEnumType } from '@nestjs/graphql';

import type { ApprovalAction, ExpireAction } from '../../policies/approval-policy.js';
import type { PolicyLayer } from '../../policies/judge-call.js';

/** GraphQL's names of what the policy does with a call. */
export const ApprovalActionEnum = {
  AUTO_APPROVE: 'auto_approve',
  REQUIRE_APPROVAL: 'require_approval',
  BLOCK: 'block',
} as const satisfies Record<Uppercase<ApprovalAction>, ApprovalAction>;

registerEnumType(ApprovalActionEnum, {
  name: 'ApprovalAction',
  description: 'What the approval policy does with a tool call, from the mildest to the strictest.',
  valuesMap: {
    AUTO_APPROVE: { description: 'It runs at once.' },
    REQUIRE_APPROVAL: { description: 'It waits for a person.' },
    BLOCK: { description: 'The call does not run. The model reads that the tool does not exist.' },
  },
});

/** GraphQL's names of what the end of a request's time means. */
export const ExpireActionEnum = {
  DENY: 'deny',
  FAIL_JOB: 'fail_job',
} as const satisfies Record<Uppercase<ExpireAction>, ExpireAction>;

registerEnumType(ExpireActionEnum, {
  name: 'ExpireAction',
  description: 'What happens to a call whose approval expired. It never runs.',
  valuesMap: {
    DENY: { description: 'The call is denied and the job continues.' },
    FAIL_JOB: { description: 'The job fails with `approval_expired`.' },
  },
});

/** GraphQL's names of where a policy comes from. */
export const PolicyLayerEnum = {
  INSTANCE: 'instance',
  WORKSPACE: 'workspace',
  AGENT: 'agent',
  TOOL: 'tool',
  REQUEST: 'request',
} as const satisfies Record<Uppercase<PolicyLayer>, PolicyLayer>;

registerEnumType(PolicyLayerEnum, {
  name: 'PolicyLayer',
  description: 'The origin of a rule. Each layer can only tighten the others.',
  valuesMap: {
    INSTANCE: { description: 'The operator, for every workspace.' },
    WORKSPACE: { description: 'The saved policy of the workspace.' },
    AGENT: { description: 'The agent of the job.' },
    TOOL: { description: 'The tool itself.' },
    REQUEST: { description: 'The request that started the job.' },
  },
});
