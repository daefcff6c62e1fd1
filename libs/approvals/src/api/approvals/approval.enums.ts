import { defineEnum } from '#platform/api';

import type { ApprovalAction, ExpireAction } from '../../policies/approval-policy.js';
import type { PolicyLayer } from '../../policies/judge-call.js';

/** The GraphQL names of the policy's actions on a call. */
export const ApprovalActionEnum = defineEnum(
  'ApprovalAction',
  'What the approval policy does with a tool call, from the mildest to the strictest.',
  {
    AUTO_APPROVE: ['auto_approve', 'It runs at once.'],
    REQUIRE_APPROVAL: ['require_approval', 'It waits for a person.'],
    BLOCK: ['block', 'The call does not run. The model reads that the tool does not exist.'],
  },
) satisfies Record<Uppercase<ApprovalAction>, ApprovalAction>;

/** The GraphQL names of the effects of an expired request. */
export const ExpireActionEnum = defineEnum(
  'ExpireAction',
  'What happens to a call whose approval request expired. It never runs.',
  {
    DENY: ['deny', 'The call is denied and the job continues.'],
    FAIL_JOB: ['fail_job', 'The job fails with `approval_expired`.'],
  },
) satisfies Record<Uppercase<ExpireAction>, ExpireAction>;

/** The GraphQL names of the origins of a policy. */
export const PolicyLayerEnum = defineEnum(
  'PolicyLayer',
  'The origin of a rule. Each layer can only tighten the others.',
  {
    INSTANCE: ['instance', 'The installation: the operator sets it for every workspace.'],
    WORKSPACE: ['workspace', 'The saved policy of the workspace.'],
    AGENT: ['agent', 'The agent of the job.'],
    TOOL: ['tool', 'The tool itself.'],
    REQUEST: ['request', 'The request that started the job.'],
  },
) satisfies Record<Uppercase<PolicyLayer>, PolicyLayer>;
