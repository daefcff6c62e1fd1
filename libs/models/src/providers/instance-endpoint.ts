import { Secret, type Settings } from '#platform';

import { DEMO_MODEL_NAME } from '../demo/demo-rules.js';
import type { ModelTarget } from '../model/model.js';

/** A provider's endpoint, and the model to use when a request names none. */
export interface Endpoint extends ModelTarget {
  readonly defaultModel: string;
}

/** The settings that define the installation's provider. */
export type InstanceModelSettings = Pick<
  Settings,
  'MODEL_BASE_URL' | 'MODEL_API_KEY' | 'MODEL_NAME' | 'OPENROUTER_API_KEY' | 'OPENAI_API_KEY'
>;

const openRouter = { baseUrl: 'https://openrouter.ai/api/v1', defaultModel: 'openrouter/auto' };
const openAi = { baseUrl: 'https://api.openai.com/v1', defaultModel: 'gpt-5-mini' };

/** The operator's provider. The first setting that is present counts: MODEL_BASE_URL, OPENROUTER_API_KEY, OPENAI_API_KEY. Null if none is set. */
export function instanceEndpoint(settings: InstanceModelSettings): Endpoint | null {
  const { MODEL_BASE_URL, MODEL_API_KEY, MODEL_NAME, OPENROUTER_API_KEY, OPENAI_API_KEY } = settings;
  const named = MODEL_NAME === undefined ? {} : { defaultModel: MODEL_NAME };
  if (MODEL_BASE_URL !== undefined) {
    const apiKey = MODEL_API_KEY === undefined ? null : new Secret(MODEL_API_KEY);
    return { baseUrl: MODEL_BASE_URL, apiKey, defaultModel: MODEL_NAME ?? 'default' };
  }
  if (OPENROUTER_API_KEY !== undefined) return { ...openRouter, ...named, apiKey: new Secret(OPENROUTER_API_KEY) };
  return OPENAI_API_KEY === undefined ? null : { ...openAi, ...named, apiKey: new Secret(OPENAI_API_KEY) };
}

/** The endpoint for a key that came with a request: the installation's provider unless that is the demo model, else OpenRouter. */
export function ownKeyEndpoint(settings: InstanceModelSettings): Endpoint {
  const isDemo = settings.MODEL_NAME === DEMO_MODEL_NAME;
  const instance = isDemo ? null : instanceEndpoint(settings);
  return instance ?? { ...openRouter, apiKey: null };
}
