import { createHash, randomUUID } from 'node:crypto';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { type DatabaseUrls, migrate } from '#platform';

import { createEmptyDatabase, dropTestDatabase } from '../harness/database.js';

const migrations = join(import.meta.dirname, '../../prisma/migrations');
const database = `tool_names_${process.pid}`;
const workspaceId = randomUUID();

let urls: DatabaseUrls;
let client: pg.Client;
let before: string;

beforeAll(async () => {
  urls = await createEmptyDatabase(database);
  before = await mkdtemp(join(tmpdir(), 'before-slugs-'));
  for (const name of await readdir(migrations))
    if (name < '20261122210400') await cp(join(migrations, name), join(before, name), { recursive: true });
  await migrate(urls, { directory: before });
  client = new pg.Client({ connectionString: urls.owner });
  await client.connect();
  await client.query(`INSERT INTO workspace (id, name) VALUES ($1, 'w')`, [workspaceId]);
});

afterAll(async () => {
  await client.end();
  await dropTestDatabase(database);
  await rm(before, { recursive: true });
});

/** `name` as it is published; the draft may say something else by now. Ids grow. */
let made = 0;
async function add(name: string, { offered = true, draft = name, more = '' } = {}): Promise<string> {
  const id = `01900000-0000-7000-8000-${String((made += 1)).padStart(12, '0')}`;
  await client.query(
    `INSERT INTO workflow (workspace_id, id, name, draft, draft_hash, published_version, latest_version, offered_as_tool, created_by)
     VALUES ($1, $2, $3, '{}', 'h', 1, 1, $4, 'user:u')`,
    [workspaceId, id, draft, offered],
  );
  await client.query(
    `INSERT INTO workflow_version (workspace_id, workflow_id, number, definition, hash, created_by)
     VALUES ($1, $2, 1, $3, 'h', 'user:u')`,
    [workspaceId, id, `{"meta": {"name": ${JSON.stringify(name)}}${more}}`],
  );
  return id;
}

const markOf = (id: string) => createHash('sha256').update(id).digest('hex').slice(0, 8);

describe('workflow tool from before slugs', () => {
  it('keeps its name, which no other workflow gets', async () => {
    const plain = await add('Weekly Report');
    const named = await add('My_Flow');
    const alike = await add('my flow!', { draft: 'my flow!' });
    const nameless = await add('報告');
    const long = await add(`${'long '.repeat(20)}x`);
    const longer = await add(`${'long '.repeat(20)}y`);
    const renamed = await add('As it is published', { draft: 'As it is drafted' });
    const strange = await add('Strange', { draft: 'Strange', more: String.raw`, "x": "\u0000"` });
    const underlined = await add('A_B');
    const withheld = await add('a b', { offered: false });
    await migrate(urls);
    const { rows } = await client.query<{ id: string; slug: string; tool_slug: string | null }>(
      'SELECT id, slug, tool_slug FROM workflow ORDER BY id',
    );
    const toolSlugs = new Map(rows.map(({ id, slug, tool_slug: toolSlug }) => [id, toolSlug ?? slug]));
    const longest = 'long-'.repeat(20);
    expect(Object.fromEntries(toolSlugs)).toEqual({
      [plain]: 'weekly-report',
      [named]: 'my-flow',
      [alike]: `my-flow-${markOf(alike)}`,
      [nameless]: markOf(nameless),
      [long]: longest.slice(0, 55),
      [longer]: `${longest.slice(0, 46)}-${markOf(longer)}`,
      [renamed]: 'as-it-is-published',
      [strange]: 'strange',
      [underlined]: 'a-b',
      [withheld]: `workflow-${withheld}`,
    });
    expect(rows.find(({ id }) => id === named)?.slug).toBe('my_flow');
    expect(rows.find(({ id }) => id === plain)?.tool_slug).toBeNull();
  });
});
