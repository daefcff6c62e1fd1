import { defineEnum } from '#platform/api';

import type { ApprovalAction, ExpireAction } from '../../policies/approval-policy.js';
import type { PolicyLayer } from '../../policies/judge-call.js';

/** GraphQL's names of what the policy does with a call. */
export const ApprovalActionEnum = defineEnum(
  'ApprovalAction',
  'What the approval policy does with a tool call, from the mildest to the strictest.',
  {
    AUTO_APPROVE: ['auto_approve', 'It runs at once.'],
    REQUIRE_APPROVAL: ['require_approval', 'It waits for a person.'],
    BLOCK: ['block', 'The call does not run. The model reads that the tool does not exist.'],
  },
) satisfies Record<Uppercase<ApprovalAction>, ApprovalAction>;

/** GraphQL's names of what the end of a request's time means. */
export const ExpireActionEnum = defineEnum(
  'ExpireAction',
  'What happens to a call whose approval expired. It never runs.',
  {
    DENY: ['deny', 'The call is denied and the job continues.'],
    FAIL_JOB: ['fail_job', 'The job fails with `approval_expired`.'],
  },
) satisfies Record<Uppercase<ExpireAction>, ExpireAction>;

/** GraphQL's names of where a policy comes from. */
export const PolicyLayerEnum = defineEnum(
  'PolicyLayer',
  'The origin of a rule. Each layer can only tighten the others.',
  {
    INSTANCE: ['instance', 'The operator, for every workspace.'],
    WORKSPACE: ['workspace', 'The saved policy of the workspace.'],
    AGENT: ['agent', 'The agent of the job.'],
    TOOL: ['tool', 'The tool itself.'],
    REQUEST: ['request', 'The request that started the job.'],
  },
) satisfies Record<Uppercase<PolicyLayer>, PolicyLayer>;
