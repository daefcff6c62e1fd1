import { Injectable } from '@nestjs/common';

import { ShownTextsRepository } from '#jobs';
import { assertReadable, Prisma, PrismaService, type RoundRow, type Scope } from '#platform';

import type { ChosenAgent } from '../input/agent.js';

/** A committed round: one response of the model. Instants in ms since the epoch. */
export interface RoundRecord {
  readonly jobId: string;
  readonly number: number;
  /** For workflows: the node run that called the model, and its branch. Null if the job itself called it. */
  readonly nodeRun: number | null;
  readonly branch: string | null;
  readonly model: string;
  readonly text: string;
  readonly reasoning: string;
  readonly finishReason: string;
  /** The text of the round was shown, but its job ended before the round finished. */
  readonly partial: boolean;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly usageEstimated: boolean;
  readonly startedAt: number;
  readonly finishedAt: number;
}

/** Rounds of jobs, for readers. Every method takes a Scope and many jobs at once, for data loaders. */
@Injectable()
export class RoundsRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly shown: ShownTextsRepository,
  ) {}

  /** The committed rounds of these jobs, in order. Omits round 0, which chooses an agent. Throws `too_large`. */
  roundsInScope(scope: Scope, jobIds: readonly string[]): Promise<RoundRecord[]> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const [size] = await tx.$queryRaw<{ bytes: number | null }[]>(sizeOfRounds(scope, jobIds));
      assertReadable(size?.bytes ?? 0);
      const rows = await tx.round.findMany({
        where: {
          workspaceId: scope.workspaceId,
          jobId: { in: [...jobIds] },
          number: { gt: 0 },
          // A round is readable if its job is.
          job: { is: scope.where('Job') },
        },
        orderBy: [{ jobId: 'asc' }, { number: 'asc' }],
      });
      return rows.map(toRound);
    });
  }

  /**
   * The shown text of the open round, by job; for a workflow, all its shown content. Omits jobs that have ended, or show no open text. The
   * content of a job is the text of its own rounds (which belong to no node), followed by this text.
   */
  async openTextInScope(scope: Scope, jobIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { workspaceId } = scope;
    const { texts, workflows } = await this.prisma.withWorkspace(scope, async (tx) => {
      const unfinished = await tx.job.findMany({
        where: { AND: [scope.where('Job'), { workspaceId, id: { in: [...jobIds] }, finishedAt: null }] },
        select: { id: true, kind: true },
      });
      const { open = [], workflows = [] } = Object.groupBy(unfinished, ({ kind }) =>
        kind === 'workflow' ? 'workflows' : 'open',
      );
      if (open.length === 0) return { texts: new Map<string, string>(), workflows };
      const rows = await tx.$queryRaw<{ id: string; text: string }[]>`
        SELECT e.job_id AS id, string_agg(e.body->>'text', '' ORDER BY e.seq) AS text FROM job_event e
         WHERE e.workspace_id = ${workspaceId}::uuid AND e.job_id = ANY(${open.map(({ id }) => id)}::uuid[])
           AND e.type = 'text-delta' AND e.seq > coalesce((SELECT max(b.seq) FROM job_event b
                WHERE b.workspace_id = e.workspace_id AND b.job_id = e.job_id
                  AND b.type IN ('round-finished', 'round-restarted')), 0)
         GROUP BY e.job_id`;
      return { texts: new Map(rows.map(({ id, text }) => [id, text])), workflows };
    });
    for (const { id } of workflows) {
      const { text } = await this.shown.read({ workspaceId, jobId: id });
      if (text.length > 0) texts.set(id, text.map((piece) => piece.text).join(''));
    }
    return texts;
  }

  /** The agents of these jobs: pinned when they were accepted, or chosen since. Jobs without an agent are missing. */
  async agentsInScope(scope: Scope, jobIds: readonly string[]): Promise<ReadonlyMap<string, ChosenAgent>> {
    const { workspaceId } = scope;
    const rows = await this.prisma.withWorkspace(scope, async (tx) => {
      const where = { AND: [scope.where('Job'), { workspaceId, id: { in: [...jobIds] } }] };
      const ids = (await tx.job.findMany({ where, select: { id: true } })).map(({ id }) => id);
      return tx.$queryRaw<{ id: string; agent: ChosenAgent | null }[]>`
        SELECT j.id, coalesce(j.input->'agent', r.captured::jsonb) AS agent
          FROM job j LEFT JOIN round r ON r.workspace_id = j.workspace_id AND r.job_id = j.id AND r.number = 0
         WHERE j.workspace_id = ${workspaceId}::uuid AND j.id = ANY(${ids}::uuid[])`;
    });
    return new Map(rows.flatMap(({ id, agent }) => (agent === null ? [] : [[id, agent] as const])));
  }
}

/** The content of a job: the text of its own rounds, without those of workflow nodes. */
export function contentOf(rounds: readonly Pick<RoundRecord, 'nodeRun' | 'text'>[]): string {
  return rounds.map(({ nodeRun, text }) => (nodeRun === null ? text : '')).join('');
}

function sizeOfRounds({ workspaceId }: Scope, jobIds: readonly string[]): Prisma.Sql {
  return Prisma.sql`SELECT sum(octet_length(text) + octet_length(reasoning))::float8 AS bytes FROM round
    WHERE workspace_id = ${workspaceId}::uuid AND job_id = ANY(${[...jobIds]}::uuid[])`;
}

function toRound(row: RoundRow): RoundRecord {
  const { jobId, number, nodeRun, branch, model, text, reasoning, finishReason, partial } = row;
  const { promptTokens, completionTokens, usageEstimated } = row;
  return {
    ...{ jobId, number, nodeRun, branch, model, text, reasoning, finishReason, partial },
    ...{ promptTokens, completionTokens, usageEstimated },
    startedAt: row.startedAt.getTime(),
    finishedAt: row.finishedAt.getTime(),
  };
}
