import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';
import type { StartingRef } from '#tools';

import type { ApprovalPolicy } from '../policies/approval-policy.js';
import type { Allowance, GateCall, GateJob } from './call-gate.js';

/** The input of the gate for a call that is about to start. */
export interface StartingCall {
  readonly job: GateJob;
  /** `arguments`: the arguments to run the call with. */
  readonly call: GateCall;
  readonly allowed: Allowance;
}

interface Row {
  readonly threadId: string | null;
  readonly createdBy: string | null;
  readonly principal: string;
  readonly requestPolicy: ApprovalPolicy | null;
  readonly callerPolicies: readonly ApprovalPolicy[] | null;
  readonly agent: string | null;
  readonly agentPolicy: ApprovalPolicy | null;
  readonly name: string;
  readonly version: string | null;
  readonly arguments: string;
  readonly approval: Allowance['approval'];
  readonly decidedBy: string | null;
  readonly decisionRules: Allowance['decisionRules'];
}

/** Reads calls that a process other than the job's worker is about to run. */
@Injectable()
export class StartingCallsRepository {
  constructor(private readonly prisma: PrismaService) {}

  async find(ref: StartingRef): Promise<StartingCall | null> {
    const { workspaceId, jobId } = ref;
    const [row] = await this.prisma.queryInWorkspace<Row>({ workspaceId }, startingCall(ref));
    if (row === undefined) return null;
    const { threadId, createdBy, principal, requestPolicy, callerPolicies, agent, agentPolicy } = row;
    const { name, version, approval, decidedBy, decisionRules } = row;
    return {
      job: { workspaceId, jobId, threadId, createdBy, principal, agent, agentPolicy, callerPolicies, requestPolicy },
      call: { name, version, arguments: row.arguments },
      allowed: { approval, decidedBy, decisionRules },
    };
  }
}

/**
 * The input of the job contains the policy of the request, as it was parsed when the job was accepted. It also contains the agent; if the job
 * chose its agent itself, round 0 contains it.
 */
function startingCall(ref: StartingRef): Prisma.Sql {
  const [id, callId] = 'id' in ref ? [ref.id, null] : [null, ref.callId];
  return Prisma.sql`SELECT j.thread_id AS "threadId", j.created_by AS "createdBy", j.principal, c.name, c.approval,
    c.tool_version AS version, nullif(j.input->'toolApproval', 'null') AS "requestPolicy",
    j.input->'callerPolicies' AS "callerPolicies", a.agent->>'name' AS agent, v.tool_approval AS "agentPolicy",
    c.decided_by AS "decidedBy", coalesce(c.executed_arguments, c.approved_arguments, c.arguments) AS arguments,
    (SELECT json_build_object('decidableBy', i.decidable_by, 'fourEyes', i.four_eyes, 'adminRequired', i.admin_required)
       FROM interrupt i WHERE i.workspace_id = c.workspace_id AND i.tool_call_id = c.id AND i.kind = 'tool_approval'
        AND i.outcome->>'outcome' = 'approved' ORDER BY i.id DESC LIMIT 1) AS "decisionRules"
  FROM tool_call c JOIN job j ON j.workspace_id = c.workspace_id AND j.id = c.job_id
  CROSS JOIN LATERAL (SELECT coalesce(j.input->'agent', CASE WHEN j.input ? 'routing' THEN (SELECT r.captured::jsonb FROM round r
     WHERE r.workspace_id = j.workspace_id AND r.job_id = j.id AND r.number = 0) END) AS agent) a
  LEFT JOIN agent_version v ON v.workspace_id = j.workspace_id AND v.agent_id = (a.agent->>'id')::uuid
   AND v.number = (a.agent->>'version')::int
 WHERE c.workspace_id = ${ref.workspaceId}::uuid AND c.job_id = ${ref.jobId}::uuid AND (c.id = ${id}::uuid OR c.call_id = ${callId})
 ORDER BY c.round DESC LIMIT 1`;
}
