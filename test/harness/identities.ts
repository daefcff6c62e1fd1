import { SignJWT } from 'jose';

import { type Auth, type MemberPrincipal, openAuth, type Role } from '#auth';
import { type Bus, type BusMessages, type BusTopic, Config, ManualClock } from '#platform';

import type { TestDatabase } from './database.js';

const JWT_SECRET = 'the shared secret of the test tokens';
const JWT_ISSUER = 'https://issuer.example';

/** The auth library over a test database, on a clock of its own. */
export interface TestIdentities {
  readonly auth: Auth;
  readonly clock: ManualClock;
  readonly bus: HintBus;
  /** An `Authorization` header: a token of this subject, with its address verified, good for an hour. */
  bearer(subject: string, claims?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Enters `workspaceId` (or the only one) by token. */
  enter(subject: string, workspaceId?: string): Promise<MemberPrincipal>;
  /** Invites the subject into the principal's workspace, accepts as the subject, and enters. */
  join(principal: MemberPrincipal, subject: string, role: Role): Promise<MemberPrincipal>;
  /** A new workspace owned by `<name>-owner`, with one `<name>-<role>` for each other role; principals by role. */
  workspaceOf(name: string): Promise<Record<Role, MemberPrincipal>>;
}

/** To simulate another process over the same database, call it again with the same `database`. */
/** `env` replaces settings by the names of their variables. */
export function openTestIdentities(
  database: TestDatabase,
  bus = new HintBus(),
  env: Readonly<Record<string, string>> = {},
): TestIdentities {
  const clock = new ManualClock();
  const auth = openAuth({
    config: Config.from({ JWT_SECRET, JWT_ISSUER, ...env }),
    prisma: database.prisma,
    bus,
    secret: 'the secret of the test databases',
    fetchKeys: () => Promise.reject(new Error('no key set in this test')),
    clock,
  });
  const bearer = async (subject: string, claims: Readonly<Record<string, unknown>> = {}) => {
    const seconds = Math.floor(clock.now() / 1_000);
    const defaults = {
      iss: JWT_ISSUER,
      sub: subject,
      exp: seconds + 3_600,
      email: emailOf(subject),
      email_verified: true,
      name: subject,
    };
    const token = new SignJWT({ ...defaults, ...claims }).setProtectedHeader({ alg: 'HS256' });
    return `Bearer ${await token.sign(new TextEncoder().encode(JWT_SECRET))}`;
  };
  const enter = async (subject: string, workspaceId?: string) =>
    auth.authenticator.authenticate({ authorization: await bearer(subject), workspaceId });
  const workspaceOf = async (name: string) => {
    const identity = await auth.authenticator.identify({ authorization: await bearer(`${name}-owner`) });
    const { id } = await auth.workspaces.create(identity, { name });
    const owner = await enter(`${name}-owner`, id);
    const joined = (role: Role) => join(owner, `${name}-${role}`, role);
    return { owner, admin: await joined('admin'), member: await joined('member'), viewer: await joined('viewer') };
  };
  const join = async (principal: MemberPrincipal, subject: string, role: Role) => {
    const invitation = await auth.invitations.invite(principal, { email: emailOf(subject), role });
    await auth.invitations.accept(
      await auth.authenticator.identify({ authorization: await bearer(subject) }),
      invitation.id,
    );
    return enter(subject, principal.workspaceId);
  };
  return { auth, clock, bus, bearer, enter, join, workspaceOf };
}

/** The address of a test subject. */
export function emailOf(subject: string): string {
  return `${subject}@example.org`;
}

/** A bus that delivers hints at once and records them; `deaf` drops them. */
export class HintBus implements Bus {
  readonly sent: { readonly topic: BusTopic; readonly message: unknown }[] = [];
  deaf = false;
  private readonly listeners = new Map<BusTopic, Set<(message: never) => void>>();
  private readonly gaps = new Set<() => void>();

  publish<T extends BusTopic>(topic: T, message: BusMessages[T]): void {
    this.sent.push({ topic, message });
    if (this.deaf) return;
    // Listeners are stored by topic, so each receives its own message type.
    for (const listener of this.listeners.get(topic) ?? []) listener(message as never);
  }

  subscribe<T extends BusTopic>(topic: T, listener: (message: BusMessages[T]) => void): () => void {
    const listeners = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  onGap(listener: () => void): () => void {
    this.gaps.add(listener);
    return () => this.gaps.delete(listener);
  }

  /** As after a lost connection. */
  gap(): void {
    for (const listener of this.gaps) listener();
  }

  /** The number of listeners to topics and gaps. */
  get listening(): number {
    return [...this.listeners.values()].reduce((sum, { size }) => sum + size, this.gaps.size);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}
