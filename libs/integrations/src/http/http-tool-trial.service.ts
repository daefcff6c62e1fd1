import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal } from '#auth';
import { newId, PrismaService, systemClock } from '#platform';
import { mayBeRounded, recordChange, ROUNDED_PROBLEM, validateArguments } from '#tools';

import { toolInvalid } from './http.errors.js';
import { type HttpExchange, HttpToolExecutor } from './http-tool.executor.js';
import { type HttpTool, parseHttpTool } from './http-tool.js';
import { parseUrlTemplate } from './url-template.js';
import { WorkspaceToolsService } from './workspace-tools.service.js';

/** The tool to test: a stored one, or a definition that is not stored. */
export type TriedTool = { readonly id: string } | { readonly definition: unknown };

/** The result of a test. */
export interface ToolTrial extends HttpExchange {
  readonly durationMs: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/** Runs an HTTP tool once, for principals that may manage tools. The call is real, with real effects. Audited. */
@Injectable()
export class HttpToolTrials {
  constructor(
    private readonly prisma: PrismaService,
    private readonly tools: WorkspaceToolsService,
    private readonly executor: HttpToolExecutor,
  ) {}

  /** Throws `bad_request` for an invalid definition or arguments, and `not_found`. A failure of the remote server does not throw. */
  async run(principal: MemberPrincipal, tried: TriedTool, args: unknown): Promise<ToolTrial> {
    const { workspaceId } = principal;
    assertCan(abilityOf(principal), { action: 'manage', subject: 'WorkspaceTool', row: { workspaceId } });
    const tool = await this.read(principal, tried);
    if (mayBeRounded(args)) throw toolInvalid('arguments', ROUNDED_PROBLEM);
    const valid = validateArguments(tool, JSON.stringify(args ?? {}));
    if (!valid.ok) throw toolInvalid('arguments', valid.message);
    const startedAt = systemClock.monotonic();
    const signal = AbortSignal.timeout(tool.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    const idempotencyKey = `test:${newId()}`;
    await this.record(principal, tried, { tool, idempotencyKey });
    const exchange = await this.executor.tryOut(tool, valid.value, { workspaceId, idempotencyKey, epoch: 0, signal });
    return { ...exchange, durationMs: Math.round(systemClock.monotonic() - startedAt) };
  }

  private async read(principal: MemberPrincipal, tried: TriedTool): Promise<HttpTool> {
    if ('definition' in tried) return parseHttpTool(tried.definition);
    return (await this.tools.get(principal, tried.id)).definition;
  }

  /** The audit entry precedes the call, because the call may take effect even if this process dies. */
  private async record(
    principal: MemberPrincipal,
    tried: TriedTool,
    { tool, idempotencyKey }: { readonly tool: HttpTool; readonly idempotencyKey: string },
  ): Promise<void> {
    const template = parseUrlTemplate(tool.url);
    const host = typeof template === 'string' ? '' : template.host;
    const details = { name: tool.name, method: tool.method, host, idempotencyKey };
    const subject = { subjectType: 'WorkspaceTool', subjectId: 'id' in tried ? tried.id : 'draft' } as const;
    await this.prisma.withWorkspace(principal, (tx) =>
      recordChange(tx, principal, { action: 'tool-tested', ...subject, details }),
    );
  }
}
