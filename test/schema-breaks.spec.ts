import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const script = join('scripts', 'schema-breaks.mjs');
const before = 'type Query { job(id: ID!): String, jobs: [String!]! }';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'breaks-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Verdict {
  readonly code: number;
  readonly output: string;
}

function judge(...words: readonly string[]): Promise<Verdict> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [script, ...words], (_, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, output: stdout + stderr });
    });
  });
}

function judgeChange(after: string, changelog = '## Unreleased\n'): Promise<Verdict> {
  const texts = Object.entries({ 'before.gql': before, 'after.gql': after, 'changelog.md': changelog });
  for (const [name, text] of texts) writeFileSync(join(folder, name), text);
  return judge(...texts.map(([name]) => join(folder, name)));
}

describe('GraphQL schema', () => {
  it('contains no unannounced breaking change since the last release', async () => {
    expect(await judge()).toMatchObject({ code: 0 });
  });
});

describe('check-schema-breaks', () => {
  it('accepts additions', async () => {
    expect(await judgeChange(before.replace('}', ', more: Int }'))).toMatchObject({ code: 0 });
  });

  it.each([
    ['a field is removed', 'type Query { job(id: ID!): String }', 'Query.jobs was removed.'],
    [
      'a type changes',
      before.replace('[String!]!', '[String!]'),
      'Query.jobs changed type from [String!]! to [String!].',
    ],
    [
      'an argument becomes required',
      before.replace('jobs:', 'jobs(of: ID!):'),
      'A required arg of on Query.jobs was added.',
    ],
  ])('fails when %s, unless the changelog announces it', async (_, after, description) => {
    const refused = await judgeChange(after);
    expect(refused.code).toBe(1);
    expect(refused.output).toContain(`- ${description}\n`);
    const changelog = `# Changelog\n\n## Unreleased\n\n### Breaking\n\n- ${description}\n\n## 0.1.0\n`;
    expect(await judgeChange(after, changelog)).toMatchObject({ code: 0 });
    expect(await judgeChange(after, changelog.replace('Unreleased', '0.2.0'))).toMatchObject({ code: 1 });
  });
});
