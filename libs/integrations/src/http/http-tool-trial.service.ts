import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal } from '#auth';
import { newId, PrismaService, systemClock } from '#platform';
import { mayBeRounded, recordChange, ROUNDED_PROBLEM, validateArguments } from '#tools';

import { toolInvalid } from './http.errors.js';
import { type HttpExchange, HttpToolExecutor } from './http-tool.executor.js';
import { type HttpTool, parseHttpTool } from './http-tool.js';
import { parseUrlTemplate } from './url-template.js';
import { WorkspaceToolsService } from './workspace-tools.service.js';

/** What is tried out: a tool of the workspace, or a definition that is not stored. */
export type TriedTool = { readonly id: string } | { readonly definition: unknown };

/** How a trial went. */
export interface ToolTrial extends HttpExchange {
  readonly durationMs: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/** Runs an HTTP tool once for those who may manage tools. It is a real call: what it changes is changed. Audited. */
@Injectable()
export class HttpToolTrials {
  constructor(
    private readonly prisma: PrismaService,
    private readonly tools: WorkspaceToolsService,
    private readonly executor: HttpToolExecutor,
  ) {}

  /** Throws `bad_request` for an invalid definition or arguments, `not_found`. A failure of the remote server is not thrown. */
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

  /** Before the call, which may do something even if we do not live to see it. */
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
