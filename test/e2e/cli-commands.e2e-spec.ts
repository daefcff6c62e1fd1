import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { type CliInit, runCli } from '../harness/cli.js';
import { type NightshiftProcess, startProcess } from '../harness/processes.js';

describe('the nightshift command', () => {
  const absent = '01a20000-0000-7000-8000-000000000000';

  let server: NightshiftProcess;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-cli-'));
    server = await startProcess({ role: 'all', flags: ['--data-dir', join(folder, '.nightshift')] });
  });

  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** In the folder where the server was started: the command finds it by itself. */
  const nightshift = (words: readonly string[], init: CliInit = {}) => runCli(words, { cwd: folder, ...init });
  const errorOf = (text: string) => JSON.parse(text) as { error: { code: string }; exitCode: number };

  it.each([
    [['jobs', '--status', 'odd'], 2, 'usage'],
    [['run'], 2, 'usage'],
    [['jobs', '--limt', '2'], 2, 'usage'],
    [['job'], 2, 'usage'],
    [['logs'], 2, 'usage'],
    [['workflows'], 2, 'usage'],
    [['approve', absent], 4, 'not_found'],
    [['logs', absent], 4, 'not_found'],
    [['cancel', absent], 4, 'not_found'],
    [['workflows', 'graph', 'unknown'], 4, 'not_found'],
    [['jobs', '--token', 'nsk_wrong'], 3, 'unauthenticated'],
    [['jobs', '--url', 'http://127.0.0.1:1'], 5, 'connection_lost'],
    [['jobs', '--url', 'https://there.invalid'], 3, 'unauthenticated'],
  ])('%j exits with %i and prints the reason', async (words, exitCode, code) => {
    const asJson = await nightshift([...words, '--json'], words[0] === 'run' ? { input: ' ' } : {});
    expect(asJson).toMatchObject({ code: exitCode, stdout: '' });
    expect(errorOf(asJson.stderr)).toMatchObject({ error: { code }, exitCode });
  });

  it('suggests a fix for an unknown command', async () => {
    expect(await nightshift(['job'])).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean jobs?') });
    expect(await nightshift(['jobs', '--limt', '2'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--limit'),
    });
    for (const command of ['attach', 'logs', 'cancel'])
      expect(await nightshift([command, 'nope'])).toMatchObject({
        ...{
          code: 4,
          stderr: expect.stringMatching(/^Job nope does not exist.*\nList your jobs: npx nightshift jobs\n/),
        },
      });
    expect(await nightshift(['tools', 'call', 'calculate', '{1'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`Example: npx nightshift tools call calculate '{`),
    });
    expect(await nightshift(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    expect(await nightshift(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit codes:') });
  });

  it('prints every output and error as JSON with --json', async () => {
    expect(errorOf((await nightshift(['jobs', '--limt', '2', '--json'])).stderr)).toEqual({
      error: { code: 'usage', message: "unknown option '--limt'", remedy: 'Did you mean --limit?' },
      exitCode: 2,
    });
    expect(await nightshift(['--version', '--json'])).toMatchObject({
      ...{ code: 0, stdout: expect.stringMatching(/^{"version":"\d+\.\d+\.\d+"}\n$/) },
    });
    const { stdout } = await nightshift(['completion', 'bash', '--json']);
    expect(JSON.parse(stdout)).toEqual({ shell: 'bash', script: expect.stringContaining('nightshift complete-words') });
    // After --, it is a word like any other.
    expect(await nightshift(['logs', 'a', '--', '--json'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: /),
    });
  });

  it('checks the setup with doctor, including a job', async () => {
    const { code, stdout } = await nightshift(['doctor', '--job', '--json']);
    const checks = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { check: string; state: string });
    expect(code).toBe(0);
    expect(checks.map(({ check }) => check)).toEqual([
      'node',
      'config',
      'server',
      'database',
      'bus',
      'access',
      'queue',
      'model',
      'job',
    ]);
    expect(checks.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(await nightshift(['doctor'])).toMatchObject({
      ...{ code: 0, stdout: expect.stringMatching(/– model .*\n.*doctor --job/) },
    });
  });

  it('suggests a fix for an unreachable server and for a missing key', async () => {
    expect(await nightshift(['doctor', '--url', 'http://127.0.0.1:65533'])).toMatchObject({
      ...{ code: 5, stdout: expect.stringMatching(/✗ server .*ECONNREFUSED.*\n.*npm start/) },
    });
    expect(await nightshift(['doctor', '--token', 'nsk_wrong'])).toMatchObject({
      ...{ code: 3, stdout: expect.stringMatching(/✗ access .*\n.*NIGHTSHIFT_KEY/) },
    });
  });

  it('validates, saves, draws and runs a workflow', async () => {
    const file = join(process.cwd(), 'examples', 'workflows', 'refine-until-good.json');
    expect(await nightshift(['workflows', 'validate', file])).toMatchObject({ code: 0 });
    expect(await nightshift(['workflows', 'push', file])).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('refine-until-good: version 1 is published.') },
    });
    expect((await nightshift(['workflows', 'list'])).stdout).toMatch(/^(refine-until-good +){2}version 1/m);
    expect((await nightshift(['workflows', 'graph', 'refine-until-good'])).stdout).toMatch(/^flowchart TD\n/);
    const run = await nightshift(['workflows', 'run', 'refine-until-good', 'a draft']);
    expect(run).toMatchObject({ code: 0, stderr: expect.stringMatching(/✓ Refine [^]*\ncompleted · /) });
    const [, jobId = ''] = /^job (\S+)/.exec(run.stderr) ?? [];
    expect((await nightshift(['workflows', 'graph', '--job', jobId])).stdout).toMatch(/^flowchart TD\n/);
    for (const name of ['refine-until-good', 'Refine until good', 'workflow/refine-until-good'])
      expect((await nightshift(['jobs', '--workflow', name, '--json'])).stdout).toContain(`"id":"${jobId}"`);
    expect(await nightshift(['workflows', 'graph', 'Refine until good'])).toMatchObject({ code: 0 });
    const byName = await nightshift(['workflows', 'run', 'Refine until good', 'a draft', '--detach']);
    expect(byName).toMatchObject({ code: 0 });
    expect((await nightshift(['jobs', '--kind', 'workflow'])).stdout).toMatch(/^completed .* Refine until good$/m);
    expect(await nightshift(['jobs', '--workflow', 'unknown'])).toMatchObject({ code: 4 });
    for (const flags of [[], ['--json']])
      expect(await nightshift(['jobs', '--kind', 'workflow', '--limit', '1', ...flags])).toMatchObject({
        ...{ code: 0, stderr: 'Only the first 1 are shown. Set a higher --limit to see more.\n' },
      });
    expect(await nightshift(['jobs', '--kind', 'workflow', '--limit', '100'])).toMatchObject({ code: 0, stderr: '' });
  });

  it('publishes a saved workflow and answers its approval with --action approve', async () => {
    const file = join(folder, 'careful.json');
    const node = (id: string, data: object = {}) => ({ id, type: id, position: { x: 0, y: 0 }, data });
    const nodes = [node('start', { label: 'Start' }), node('approval', { label: 'Sure', prompt: 'Sure?' })];
    const edges = [{ id: 'e', source: 'start', target: 'approval' }];
    writeFileSync(file, JSON.stringify({ meta: { version: '2.0.0', name: 'Careful' }, nodes, edges }));
    expect(await nightshift(['workflows', 'push', file, '--draft'])).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('nightshift workflows publish careful') },
    });
    expect(await nightshift(['workflows', 'publish', 'careful'])).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('careful: version 1 is published.') },
    });
    const run = await nightshift(['workflows', 'run', 'careful', 'continue?']);
    expect(run).toMatchObject({ code: 6, stderr: expect.stringMatching(/approve \S+ --action reject/) });
    const [, request = ''] = /approve (\S+) --action approve/.exec(run.stderr) ?? [];
    const wrong = await nightshift(['approve', request, '--decision', 'report']);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--action approve') });
    expect(run.stderr).toContain('\n    │ continue?\n');
    expect(await nightshift(['approve', '--yes'])).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('List the open ones: npx nightshift approve\n') },
    });
    expect(await nightshift(['approve', request, '--yes'])).toMatchObject({ code: 0 });
    expect(await nightshift(['approve', request, '--deny'])).toMatchObject({
      ...{ code: 1, stderr: expect.stringMatching(/^Request already answered: approve by you, /) },
    });
    expect((await nightshift(['approve', request])).stdout).toMatch(/^approve by you, .+: /);
  });

  it('removes terminal control characters from names', async () => {
    const file = join(folder, 'painted.json');
    const draft = async (id: string, data: object) => {
      const meta = { version: '2.0.0', name: 'Painted', id: 'paint\u001b[2Jed' };
      const node = { id: 'start', type: 'start', position: { x: 0, y: 0 }, data: { label: 'Start' } };
      const asks = { id, type: 'approval', position: { x: 0, y: 0 }, data: { label: 'Su\u001b[1Are', ...data } };
      const edges = [{ id: 'e', source: 'start', target: id }];
      writeFileSync(file, JSON.stringify({ meta, nodes: [node, asks], edges }));
      return nightshift(['workflows', 'push', file, '--draft']);
    };
    const pushed = await draft('as\u001b[3Jks', { prompt: '' });
    const wrong = await nightshift(['workflows', 'publish', 'painted']);
    await draft('asks', { prompt: 'Sure?' });
    const published = await nightshift(['workflows', 'publish', 'painted']);
    const listed = await nightshift(['workflows', 'list']);
    const run = await nightshift(['workflows', 'run', 'paint\u001b[2Jed', 'continue?']);
    const [, request = ''] = /approve (\S+) --action approve/.exec(run.stderr) ?? [];
    const answered = await nightshift(['approve', request, '--yes']);
    expect([pushed, wrong, published, listed, run, answered].map(({ code }) => code)).toEqual([0, 1, 0, 0, 6, 0]);
    expect(wrong.stderr).toContain('as[3Jks');
    expect(listed.stdout).toContain('paint[2Jed');
    expect(answered.stdout).toContain('Su[1Are');
    for (const { stdout, stderr } of [pushed, wrong, published, listed, run, answered])
      expect(stdout + stderr).not.toContain('\u001b');
  });

  it('shows the executed and the proposed arguments of an edited call', async () => {
    const run = await nightshift(['run', 'What is 17 * 23?', '--tools', 'calculate', '--ask', '--json']);
    const last = JSON.parse(run.stdout.trim().split('\n').at(-1) ?? '') as { jobId: string; requests: string[] };
    const request = last.requests[0] ?? '';
    const edit = ['--arguments', '{"expression": "2 + 2"}'];
    expect(await nightshift(['approve', request, ...edit])).toMatchObject({ code: 0 });
    await nightshift(['attach', last.jobId]);
    const call = String.raw`calculate\(expression: "2 \+ 2"\) · edited, proposed: \(expression: "17 \* 23"\)`;
    expect((await nightshift(['approve', request])).stdout).toMatch(new RegExp(`^approved by you, .*\n    ${call}`));
    expect((await nightshift(['logs', last.jobId])).stdout).toMatch(new RegExp(`${call} · completed`));
  });

  it('prints the path of each fault in a document', async () => {
    const file = join(folder, 'wrong.json');
    const meta = { version: '2.0.0', name: 'Wrong', id: 'wrong' };
    const nodes = [{ id: 'writer', type: 'agent', position: { x: 0, y: 0 }, data: { label: 'Writer', model: 7 } }];
    writeFileSync(file, JSON.stringify({ meta, nodes, edges: [] }));
    const { code, stdout } = await nightshift(['workflows', 'validate', file]);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^${file}:/\\S*: error [A-Z_]+: `, 'm'));
    const pushed = await nightshift(['workflows', 'push', file]);
    expect(pushed).toMatchObject({ code: 1, stderr: expect.stringContaining('The document is saved as a draft.') });
    expect(pushed.stderr).toMatch(new RegExp(`^${file}:/nodes/0/data/model: error [A-Z_]+: .*\\(node writer\\)$`, 'm'));
    expect(pushed.stderr).toMatch(/^Workflow definition is invalid\nThe document is saved as a draft/m);
    expect((await nightshift(['workflows', 'list'])).stdout).toMatch(/^wrong +wrong +no /m);
    expect((await nightshift(['workflows', 'publish', 'wrong'])).stderr).toMatch(/^wrong:\/nodes\/0\S+: error /m);
    expect(await nightshift(['workflows', 'validate', 'absent.json'])).toMatchObject({ code: 2 });
    for (const command of ['validate', 'push'])
      expect(
        await nightshift(['workflows', command, '-', '--token', 'nsk_wrong'], { input: 'nodes: []' }),
      ).toMatchObject({ code: 2, stderr: expect.stringMatching(/^Standard input is not JSON: /) });
    writeFileSync(
      file,
      JSON.stringify({ meta, nodes: nodes.map(({ id, type, data }) => ({ id, type, data })), edges: [] }),
    );
    expect(await nightshift(['workflows', 'push', file])).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining(`${file}:/nodes/0/position: error DATA_VALIDATION_ERROR: `) },
    });
  });

  it('lists tools', async () => {
    expect((await nightshift(['tools', 'list'])).stdout).toMatch(/^calculate +server +pure +/m);
    expect(await nightshift(['tools', 'call', 'nothing'])).toMatchObject({ code: 4 });
  });

  it('lists agents, chats with one and calls a tool of one', async () => {
    const key = readFileSync(join(folder, '.nightshift', 'demo-api-key'), 'utf8').trim();
    const make = async (input: object) => {
      const query = 'mutation($input: CreateAgentInput!) { createAgent(input: $input) { userErrors { message } } }';
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ query, variables: { input } });
      return (await fetch(`${server.url ?? ''}/graphql`, { method: 'POST', headers, body })).json();
    };
    const none = { data: { createAgent: { userErrors: [] } } };
    const policy = { rules: [{ match: '*', action: 'require_approval' }] };
    expect(await make({ name: 'Clerk', tools: ['calculate'], description: 'Does sums' })).toEqual(none);
    expect(await make({ name: 'Careful', tools: ['calculate'], toolApproval: policy })).toEqual(none);

    expect((await nightshift(['agents'])).stdout).toMatch(/^clerk +1 +calculate +Does sums$/m);
    const run = await nightshift(['run', 'What is 17 * 23?', '--agent', 'clerk']);
    expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining('391') });
    expect(await nightshift(['run', 'What is 17 * 23?', '--agent', 'unknown'])).toMatchObject({ code: 4 });

    const call = ['tools', 'call', 'calculate', '{"expression": "2 ^ 10"}', '--agent'];
    expect(await nightshift([...call, 'clerk'])).toMatchObject({ code: 0, stdout: '1024\n' });
    expect(await nightshift([...call, 'careful'])).toMatchObject({ code: 6 });
    expect(await nightshift([...call, 'unknown'])).toMatchObject({ code: 4 });
  });
});

describe('nightshift completion', () => {
  const bin = join(process.cwd(), 'node_modules', '.bin');

  /** What a shell completes these to, a word a line, each question ended by a point. */
  const scripts = {
    bash: `source <(nightshift completion bash)
    complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _nightshift; printf '%s\\n' "\${COMPREPLY[@]}"; echo .; }
    complete_words nightshift jobs --status w
    complete_words nightshift workf
    complete_words nightshift workflows pub
    complete_words nightshift notifications r`,
    // The functions that zsh has in its line editor only.
    zsh: `compdef() { : }
    _describe() { print -l -- "\${(@)\${(@P)2}%%:*}" }
    _files() { print files }
    source <(nightshift completion zsh)
    complete_words() { words=("$@"); CURRENT=$#; _nightshift; print . }
    complete_words nightshift jobs --status w
    complete_words nightshift workf
    complete_words nightshift workflows pub
    complete_words nightshift notifications r`,
    fish: `nightshift completion fish | source
    for line in 'nightshift jobs --status w' 'nightshift workf' 'nightshift workflows pub' 'nightshift notifications r'
      complete -C $line | string replace -r '\\t.*' ''
      echo .
    end`,
  };

  function completions(shell: keyof typeof scripts): string[] {
    const bare = { bash: ['--noprofile', '--norc'], zsh: ['-f'], fish: ['--no-config'] }[shell];
    const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HOME: process.env['HOME'] };
    const text = execFileSync(shell, [...bare, '-c', scripts[shell]], { env }).toString();
    return text.split('\n').filter((line) => line !== '');
  }

  const shells = ['bash', 'zsh', 'fish'] as const;
  it.each(shells.filter((shell) => spawnSync(shell, ['-c', 'true']).error === undefined))(
    'completes the commands in %s',
    (shell) => {
      expect(completions(shell)).toEqual(['waiting', '.', 'workflows', '.', 'publish', '.', 'read', '.']);
    },
  );

  it.each(shells)('calls the program for its commands in the script for %s', (shell) => {
    const script = execFileSync(join(bin, 'nightshift'), ['completion', shell]).toString();
    expect(script).toMatch(new RegExp(`^#.*\\b(nightshift completion ${shell}|compdef nightshift)\\b`));
    expect(script).toContain('nightshift complete-words -- ');
  });
});
