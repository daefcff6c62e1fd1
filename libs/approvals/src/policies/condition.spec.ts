import { describe, expect, it } from '@jest/globals';

import { compileCondition, type ConditionContext, type ConditionResult, MAX_CONDITION_LENGTH } from './condition.js';

const context: ConditionContext = {
  tool: 'mail.send',
  arguments: { to: ['ann@example.org', 'bob@rival.example'], amount: 1500, note: 'hello', options: { draft: false } },
  agent: null,
  principal: { id: 'user:7', role: 'member', userId: '7' },
};

function answer(source: string, over: Partial<ConditionContext> = {}): ConditionResult {
  const compiled = compileCondition(source);
  if (!compiled.ok) throw new Error(compiled.problem);
  return compiled.condition({ ...context, ...over }).answer;
}

function problem(source: string): string {
  const compiled = compileCondition(source);
  return compiled.ok ? '' : compiled.problem;
}

describe('a condition', () => {
  it.each([
    ['tool == "mail.send"', 'true'],
    ['tool.startsWith("files.")', 'false'],
    ['arguments.amount > 1000', 'true'],
    ['arguments.amount in [1500, 2000]', 'true'],
    ['arguments.to.exists(address, !address.endsWith("@example.org"))', 'true'],
    ['arguments.to.all(address, address.endsWith("@example.org"))', 'false'],
    ['arguments.to.filter(address, address.contains("rival")).size() == 1', 'true'],
    ['has(arguments.cc) && arguments.cc.size() > 0', 'false'],
    ['arguments.options.draft', 'false'],
    ['"note" in arguments', 'true'],
    ['arguments.note.matchesRe2("^h[a-z]+$")', 'true'],
    ['principal.role == "member"', 'true'],
    ['principal.role in ["owner", "admin"]', 'false'],
    ['principal.userId == "7" && principal.id == "user:7"', 'true'],
    ['agent == null', 'true'],
    ['agent == "support"', 'false'],
  ])('%s is %s', (source, expected) => {
    expect(answer(source)).toBe(expected);
  });

  it.each([
    ['a member that is not there', 'arguments.cc == "x"'],
    ['something that is not a bool', 'arguments.note'],
    ['types that do not fit', 'arguments.note > 3'],
    ['whole numbers, which JSON does not have', 'arguments.amount + 1 == 1501'],
    ['what every object inherits', 'arguments.constructor == "x"'],
  ])('fails for %s', (_fact, source) => {
    expect(answer(source)).toBe('failed');
  });

  it.each([null, undefined, 7, 'text', ['list']])('fails for arguments that are not an object: %p', (args) => {
    expect(answer('arguments.amount > 1', { arguments: args })).toBe('failed');
  });

  it('does not see inherited members of an object', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty'])
      expect(answer(`has(arguments.${name})`)).toBe('false');
  });

  it('does not change the arguments', () => {
    const before = JSON.stringify(context);
    answer('arguments.to.filter(a, a != "").map(a, a + "!").exists(a, a == "") || arguments.amount > 1');
    expect(JSON.stringify(context)).toBe(before);
  });
});

describe('a condition that does not compile', () => {
  it.each([
    ['arguments.note.matches("(a+)+$")', /matches\(\), which can take for ever/],
    ['arguments.to.exists(x, x.matches("a"))', /matches\(\)/],
    ['true || "a".matches(arguments.note)', /matches\(\)/],
    ['cel.bind(a, arguments.note + arguments.note, a == "")', /bind\(\)/],
    ['arguments.note.split("").join(arguments.note) == ""', /join\(\)/],
    ['timestamp("2026-01-01T00:00:00Z") == timestamp(0)', /timestamp\(\)/],
    ['arguments.note.nope()', /nope\(\)/],
    ['b"e30=".json().a', /json\(\)/],
    ['arguments.note.matchesRe2(arguments.note)', /literal pattern/],
    ['arguments.note.matchesRe2("(?=a)")', /RE2 does not know/],
    [`arguments.note.matchesRe2("${'a{1000}'.repeat(3)}")`, /too large/],
    [`${'arguments.note.matchesRe2("a{900}") && '.repeat(3)}true`, /too large/],
    ['arguments.amount >', /cannot be read/],
    ['', /cannot be read/],
    ['environment == "x"', /Unknown variable: environment/],
    ['"yes"', /gives string/],
    ['1 + 1', /gives int/],
  ])('%s', (source, expected) => {
    expect(problem(source)).toMatch(expected);
  });

  it.each([
    ['text', `arguments.note == "${'x'.repeat(MAX_CONDITION_LENGTH)}"`, /longer than/],
    ['brackets', `${'('.repeat(60)}true${')'.repeat(60)}`, /cannot be read/],
    ['terms', `${'true&&'.repeat(300)}true`, /cannot be read/],
    ['members of a list', `arguments.amount in [${'1,'.repeat(200)}1]`, /cannot be read/],
  ])('rejects too many %s', (_fact, source, expected) => {
    expect(problem(source)).toMatch(expected);
  });
});

describe('a condition over its time limit', () => {
  const many = Array.from({ length: 20_000 }, (_, i) => i);

  it.each([
    ['loops in loops', 'arguments.l.exists(a, arguments.l.exists(b, arguments.l.exists(c, c < 0)))'],
    [
      'loops over literals',
      'L.all(a, L.all(b, L.all(c, L.all(d, a + b + c + d >= 0))))'.replaceAll('L', `[${many.slice(0, 40).join(',')}]`),
    ],
    ['lists of lists', 'arguments.l.map(a, arguments.l.map(b, a * b)).size() == 0'],
    ['errors that are swallowed', 'arguments.l.exists(a, arguments.l.exists(b, a.x == b)) || true'],
    ['patterns in loops', 'arguments.l.exists(a, arguments.text.matchesRe2("(.*a){10}(.*b){10}[0-9]$"))'],
  ])('stops: %s', (_fact, source) => {
    expect(answer(source, { arguments: { l: many, text: 'ab'.repeat(30_000) } })).toBe('too_slow');
    expect(answer('arguments.l.exists(a, a == 3)', { arguments: { l: [1, 2, 3] } })).toBe('true');
  });

  it('evaluates small arguments after it stopped large ones', () => {
    const source = 'arguments.l.exists(a, arguments.l.exists(b, arguments.l.exists(c, c < 0)))';
    expect(answer(source, { arguments: { l: many } })).toBe('too_slow');
    expect(answer(source, { arguments: { l: [1, -1] } })).toBe('true');
  });
});
