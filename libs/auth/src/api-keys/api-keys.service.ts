import { z } from 'zod';

import {
  appendAudit,
  type Bus,
  type Clock,
  type Config,
  isId,
  newId,
  type Page,
  type PageRequest,
  type PrismaService,
  type PrismaTransaction,
} from '#platform';

import { SCOPES_OF } from '../abilities.js';
import { abilityOf, assertCan, scopeOf } from '../ability.factory.js';
import { invalidInput, limitReached, notFound, scopeExceedsRole, unauthenticated } from '../auth.errors.js';
import type { Identity } from '../identity.js';
import { rowsFor, toPage } from '../page.js';
import { parseInput } from '../parse-input.js';
import { KEY_SCOPES, type KeyScope, type MemberPrincipal } from '../principal.js';
import type { ApiKeyCodec } from './api-key-codec.js';
import type { ApiKey, ApiKeysRepository, KeyRef } from './api-keys.repository.js';

/** The properties of a new key. */
export interface NewApiKeyInput {
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  /** In ms since the epoch; null or absent: the key is valid until it is revoked. */
  readonly expiresAt?: number | null | undefined;
}

const newApiKeyInput = z.strictObject({
  name: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .refine((text) => !text.includes('\0') && text.isWellFormed(), 'contains characters that cannot be stored'),
  scopes: z.array(z.enum(KEY_SCOPES)).min(1),
  expiresAt: z.int().max(8_640_000_000_000_000).nullish(), // the last instant of a Date
});

/** Dependencies of `ApiKeysService`. */
export interface ApiKeysServiceParts {
  readonly prisma: PrismaService;
  readonly keys: ApiKeysRepository;
  readonly codec: ApiKeyCodec;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly config: Config;
}

/** Creates, lists and revokes API keys. */
export class ApiKeysService {
  constructor(private readonly parts: ApiKeysServiceParts) {}

  /**
   * Creates a key that acts as the principal's user; `text` is the whole key and is never shown again. The key can do no more than the
   * principal: throws `scope_exceeds_role` for a scope that the principal does not have. A key that is created with a key expires no later
   * than that key, and is revoked with it. Throws `limit_reached` above the limits of the operator.
   */
  create(principal: MemberPrincipal, input: NewApiKeyInput): Promise<{ readonly key: ApiKey; readonly text: string }> {
    return this.createAs(principal.id, principal, input);
  }

  /** Like `create`, audited as `actor`. */
  createAs(
    actor: string,
    principal: MemberPrincipal,
    input: NewApiKeyInput,
  ): Promise<{ readonly key: ApiKey; readonly text: string }> {
    return this.make({ actor, principal, maker: makerOf(principal) }, input);
  }

  /** Creates the first key of a workspace that `maker`, a key of another workspace, has created. The new key is revoked with `maker`. */
  createFirst(
    maker: Identity,
    principal: MemberPrincipal,
    input: NewApiKeyInput,
  ): Promise<{ readonly key: ApiKey; readonly text: string }> {
    return this.make({ actor: maker.id, principal, maker: makerOf(maker) }, input);
  }

  private async make(
    { actor, principal, maker }: { actor: string; principal: MemberPrincipal; maker: KeyRef | null },
    input: NewApiKeyInput,
  ): Promise<{ readonly key: ApiKey; readonly text: string }> {
    const { workspaceId, userId } = principal;
    assertCan(abilityOf(principal), { action: 'create', subject: 'ApiKey', row: { workspaceId, userId } });
    const { name, scopes, expiresAt } = parseInput(newApiKeyInput, input);
    this.assertWithin(principal, scopes);
    const { text, ...minted } = this.parts.codec.mint();
    const end = this.endOf(principal, expiresAt ?? null);
    const fresh = {
      workspaceId,
      id: newId(),
      userId,
      name,
      scopes: [...new Set(scopes)],
      expiresAt: end,
      madeBy: maker?.id ?? null,
      minted,
    };
    const key = await this.parts.prisma.withWorkspace(principal, async (tx) => {
      if (maker !== null) await this.assertStillValid(tx, maker);
      await this.assertRoom(tx, principal);
      const stored = await this.parts.keys.insert(tx, fresh);
      const subject = { subjectType: 'ApiKey', subjectId: stored.id };
      const details = { name, prefix: stored.prefix, scopes: [...stored.scopes] };
      await appendAudit(tx, {
        workspaceId,
        actor,
        action: 'api-key-created',
        ...subject,
        details,
      });
      return stored;
    });
    return { key, text };
  }

  /** The keys that the principal may read, including revoked ones, oldest first. */
  async list(principal: MemberPrincipal, page: PageRequest): Promise<Page<ApiKey>> {
    const rows = rowsFor(page);
    const found = await this.parts.prisma.withWorkspace(principal, (tx) =>
      this.parts.keys.list(tx, scopeOf(principal), rows),
    );
    return toPage(found, rows.take);
  }

  /**
   * Revokes a key, and the keys created with it in any workspace. All processes refuse them within a second. May be repeated. Throws
   * `not_found`, `forbidden`.
   */
  revoke(principal: MemberPrincipal, id: string): Promise<ApiKey> {
    return this.revokeAs(principal.id, principal, id);
  }

  /** Like `revoke`, audited as `actor`. */
  async revokeAs(actor: string, principal: MemberPrincipal, id: string): Promise<ApiKey> {
    const { workspaceId } = principal;
    const { prisma, keys, bus, clock } = this.parts;
    let elsewhere: readonly KeyRef[] = [];
    const revoked = await prisma.withWorkspace(principal, async (tx) => {
      const key = isId(id) ? await keys.find(tx, scopeOf(principal), id) : null;
      if (key === null) throw notFound('ApiKey');
      assertCan(abilityOf(principal), {
        action: 'delete',
        subject: 'ApiKey',
        row: { workspaceId, userId: key.userId },
      });
      const at = clock.now();
      await keys.lockForRevoking(tx);
      const ended = await keys.revoke(tx, { workspaceId, id: key.id }, at);
      elsewhere = ended.filter((one) => one.workspaceId !== workspaceId);
      const here = ended.filter((one) => one.workspaceId === workspaceId);
      for (const { id: subjectId } of here.filter((one) => one.id !== key.id))
        await appendAudit(tx, revokedWith(key.id, { workspaceId, actor, subjectId }));
      if (!here.some((one) => one.id === key.id)) return key;
      const subject = { subjectType: 'ApiKey', subjectId: key.id, details: { name: key.name, prefix: key.prefix } };
      await appendAudit(tx, { workspaceId, actor, action: 'api-key-revoked', ...subject });
      return { ...key, revokedAt: at };
    });
    for (const one of new Set([workspaceId, ...elsewhere.map((ended) => ended.workspaceId)]))
      bus.publish('access-changed', { workspaceId: one });
    for (const one of elsewhere) {
      const entry = { workspaceId: one.workspaceId, actor, subjectId: one.id };
      await prisma.withWorkspace(one, (tx) => appendAudit(tx, revokedWith(id, entry)));
    }
    return revoked;
  }

  /** The principal may be a second old; a key that was revoked since then must not create a key. */
  private async assertStillValid(tx: PrismaTransaction, maker: KeyRef): Promise<void> {
    await this.parts.keys.lockForMaking(tx);
    if (await this.parts.keys.isRevoked(tx, maker)) throw unauthenticated();
  }

  private async assertRoom(tx: PrismaTransaction, principal: MemberPrincipal): Promise<void> {
    const { MAX_API_KEYS, MAX_API_KEYS_PER_USER } = this.parts.config.values;
    const { all, own } = await this.parts.keys.countUsable(tx, principal);
    const remedy = 'revoke one';
    if (own >= MAX_API_KEYS_PER_USER) {
      const counts = 'usable API keys of a user in a workspace';
      throw limitReached({ setting: 'MAX_API_KEYS_PER_USER', value: MAX_API_KEYS_PER_USER, counts, remedy });
    }
    if (all >= MAX_API_KEYS) {
      const counts = 'usable API keys of a workspace';
      throw limitReached({ setting: 'MAX_API_KEYS', value: MAX_API_KEYS, counts, remedy });
    }
  }

  private assertWithin(principal: MemberPrincipal, scopes: readonly KeyScope[]): void {
    const usable = SCOPES_OF[principal.role];
    const beyond = scopes.find((scope) => !usable.includes(scope) || !principal.scopes.includes(scope));
    if (beyond !== undefined) throw scopeExceedsRole(beyond);
  }

  private endOf(principal: MemberPrincipal, wanted: number | null): number | null {
    if (wanted !== null && wanted <= this.parts.clock.now())
      throw invalidInput('expiresAt', 'expiresAt: must be in the future');
    const limit = principal.kind === 'key' ? principal.expiresAt : null;
    return limit === null ? wanted : Math.min(wanted ?? limit, limit);
  }
}

/** The key that creates the new key; null if a person does. */
function makerOf({ id, workspaceId }: Pick<Identity, 'id' | 'workspaceId'>): KeyRef | null {
  return id.startsWith('key:') && workspaceId !== null ? { workspaceId, id: id.slice('key:'.length) } : null;
}

function revokedWith(
  key: string,
  entry: { readonly workspaceId: string; readonly actor: string; readonly subjectId: string },
) {
  return { ...entry, action: 'api-key-revoked' as const, subjectType: 'ApiKey', details: { revokedWith: key } };
}
