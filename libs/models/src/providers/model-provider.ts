import { z } from 'zod';

import { type Secret, toStorableText } from '#platform';

/** A place to ask for models that a workspace has set up; for people, so without its key. */
export interface ModelProvider {
  readonly id: string;
  readonly name: string;
  readonly baseUrl: string;
  /** Used when a request names no model. */
  readonly defaultModel: string;
  /** The last four characters of the key; empty for a short key, null when there is none. */
  readonly keyHint: string | null;
  /** The provider of the workspace's jobs; at most one is. */
  readonly isDefault: boolean;
  /** In ms since the epoch, as is `updatedAt`. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A provider to be set up. The first one of a workspace becomes its default by itself. */
export interface NewModelProvider {
  readonly name: string;
  readonly baseUrl: string;
  readonly defaultModel: string;
  /** Null: the endpoint wants none. */
  readonly apiKey: Secret | null;
  readonly isDefault?: boolean | undefined;
}

/** What to change; what is absent stays. `apiKey: null` removes the key. */
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

/** The texts of a provider. The URL is read by `parseBaseUrl`, the key by `isSendableKey`. */
export const providerTexts = z.object({ name: label(100), baseUrl: label(2_000), defaultModel: label(200) });
