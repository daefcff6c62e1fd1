import { z } from 'zod';

import { type Secret, toStorableText } from '#platform';

/** A model provider that a workspace has configured, as people see it: without its key. */
export interface ModelProvider {
  readonly id: string;
  readonly name: string;
  readonly baseUrl: string;
  /** The model that is used if a request names none. */
  readonly defaultModel: string;
  /** The last four characters of the key; empty for a short key, null without a key. */
  readonly keyHint: string | null;
  /** Whether the workspace's jobs use this provider. At most one provider of a workspace has it. */
  readonly isDefault: boolean;
  /** In ms since the epoch, as is `updatedAt`. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The input of a new provider. The first one of a workspace becomes its default. */
export interface NewModelProvider {
  readonly name: string;
  readonly baseUrl: string;
  readonly defaultModel: string;
  /** Null if the endpoint needs no key. */
  readonly apiKey: Secret | null;
  readonly isDefault?: boolean | undefined;
}

/** The changes of a provider. Absent fields do not change. `apiKey: null` removes the key. */
export interface ModelProviderChanges {
  readonly name?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly defaultModel?: string | undefined;
  readonly apiKey?: Secret | null | undefined;
}

const label = (longest: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(longest)
    .refine((text) => toStorableText(text) === text, 'contains characters that cannot be stored');

/** The text fields of a provider. `parseBaseUrl` checks the URL further, and `isSendableKey` the key. */
export const providerTexts = z.object({ name: label(100), baseUrl: label(2_000), defaultModel: label(200) });
