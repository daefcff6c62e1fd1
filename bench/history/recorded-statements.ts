import type pg from 'pg';

import type { Postgres } from '#platform';

/** A statement that was sent, with its values. */
export interface RecordedStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

type Sent = Partial<RecordedStatement>;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Records the statements that are sent over the connections of a pool, so that their plans can be examined. */
export class RecordedStatements {
  private list: RecordedStatement[] = [];

  constructor(pool: pg.Pool) {
    pool.on('connect', (client) => {
      const send = client.query.bind(client) as (...args: unknown[]) => unknown; // one of many overloads: passed on as it is
      // Prisma sends objects, other callers texts with values.
      const record = (asked: unknown, ...rest: unknown[]): unknown => {
        const { text, values } = typeof asked === 'string' ? { text: asked, values: rest[0] } : (asked as Sent);
        if (typeof text === 'string' && /^\s*(SELECT|WITH)/.test(text)) {
          this.list.push({ text, values: Array.isArray(values) ? values : [] });
        }
        return Reflect.apply(send, client, [asked, ...rest]);
      };
      Object.assign(client, { query: record });
    });
  }

  /** What was sent since the last time. */
  take(): readonly RecordedStatement[] {
    const taken = this.list;
    this.list = [];
    return taken;
  }
}

/** How Postgres goes about a statement: its scans, each as `node index`, and whether one goes through the whole table. */
export async function plansOf(
  postgres: Postgres,
  workspaceId: string,
  { settings, statement }: { readonly settings: string; readonly statement: RecordedStatement },
): Promise<readonly string[]> {
  return postgres.withWorkspaceSql(workspaceId, async (client) => {
    await client.query(settings);
    const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(
      `EXPLAIN (FORMAT JSON) ${statement.text}`,
      [...statement.values],
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    return plan === undefined ? [] : scansOf(plan);
  });
}

function scansOf(node: PlanNode): readonly string[] {
  const own = node['Relation Name'] === undefined ? [] : [`${node['Node Type']} ${node['Index Name'] ?? ''}`.trim()];
  return [...own, ...(node.Plans ?? []).flatMap(scansOf)];
}
