import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type Principal } from '#auth';
import { Config, systemClock, timeSlice, toStorable } from '#platform';
import { readArguments, ToolCatalog, type WorkspaceTools } from '#tools';

import { invalidApprovalInput, replayUnderWay } from '../approvals.errors.js';
import { ApprovalPoliciesService, assertMaySee } from './approval-policies.service.js';
import { type ApprovalPolicy, parseApprovalPolicy } from './approval-policy.js';
import { instancePolicy } from './instance-policy.js';
import { judgeLayers, strictestOf, type Verdict } from './judge-call.js';
import { type PastCall, PastCallsRepository } from './past-calls.repository.js';
import { newReplay, type PolicyReplay, tally } from './replay-tally.js';

export const MAX_REPLAYED = 10_000;
const pageSize = 100;
/** After this time, in ms, the replay returns the calls that it has examined so far. */
const longestMs = 8_000;

/** Evaluates a draft of a policy for past calls, and compares the verdicts with those of the current policy. Changes nothing. */
@Injectable()
export class PolicyReplayService {
  private readonly underWay = new Set<string>();

  constructor(
    private readonly policies: ApprovalPoliciesService,
    private readonly calls: PastCallsRepository,
    private readonly catalog: ToolCatalog,
    private readonly config: Config,
  ) {}

  /**
   * Evaluates the last `lastCalls` calls (1 to 10,000), newest first, a page at a time. Throws `not_found` to principals that may not read
   * the policy and the calls, `bad_request`, and `rate_limited` while another replay of the workspace runs in this process.
   */
  async dryRun(
    principal: Principal,
    { policy, lastCalls }: { readonly policy: unknown; readonly lastCalls: number },
  ): Promise<PolicyReplay> {
    assertMaySee(principal);
    const { workspaceId } = principal;
    assertCan(abilityOf(principal), { action: 'read', subject: 'ToolCall', row: { workspaceId } });
    if (!Number.isInteger(lastCalls) || lastCalls < 1 || lastCalls > MAX_REPLAYED)
      throw invalidApprovalInput('lastCalls', `must be 1 to ${MAX_REPLAYED}`);
    const draft = parseApprovalPolicy(toStorable(policy, 'policy'));
    if (this.underWay.has(workspaceId)) throw replayUnderWay();
    this.underWay.add(workspaceId);
    try {
      return await this.replay(principal, draft, lastCalls);
    } finally {
      this.underWay.delete(workspaceId);
    }
  }

  private async replay(principal: Principal, draft: ApprovalPolicy, lastCalls: number): Promise<PolicyReplay> {
    const { workspaceId } = principal;
    const current = (await this.policies.find(principal))?.policy ?? draft;
    const tools = await this.catalog.of(workspaceId);
    const started = systemClock.monotonic();
    let replay = newReplay();
    for await (const call of this.lastOf(workspaceId, lastCalls)) {
      if (timeSlice.isOver) await timeSlice.nextTurn();
      if (systemClock.monotonic() - started > longestMs) return { ...replay, isComplete: false };
      replay = tally(replay, {
        call,
        current: this.judge(call, tools, current),
        draft: this.judge(call, tools, draft),
      });
    }
    return replay;
  }

  private async *lastOf(workspaceId: string, count: number): AsyncGenerator<PastCall, void> {
    let before: string | null = null;
    for (let left = count; left > 0;) {
      const page: readonly PastCall[] = await this.calls.page(workspaceId, before, Math.min(left, pageSize));
      yield* page;
      left = page.length < pageSize ? 0 : left - page.length;
      before = page.at(-1)?.id ?? null;
    }
  }

  /** The verdict of the workspace layer alone, and the final verdict. */
  private judge(call: PastCall, tools: WorkspaceTools, policy: ApprovalPolicy): { own: Verdict; whole: Verdict } {
    const parsed = readArguments(call.arguments);
    const [own, ...others] = judgeLayers({
      tool: call.name,
      arguments: parsed.ok ? parsed.value : null,
      agent: null,
      principal: { id: call.principal, role: call.role, userId: call.userId },
      layers: [
        { name: 'workspace', policy },
        { name: 'instance', policy: instancePolicy(this.config) },
      ],
      ownApproval: tools.find(call.name)?.approval ?? null,
    });
    const whole = strictestOf(own === undefined ? others : [own, ...others]);
    return { own: own ?? whole, whole };
  }
}
