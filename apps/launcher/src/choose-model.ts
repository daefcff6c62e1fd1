import { startDemoModel } from '#models';
import { type Config, queuesServed } from '#platform';

/** The model that answers when a request names no other, and how people read it. */
export interface ChosenModel {
  readonly config: Config;
  readonly label: string;
}

/**
 * Keeps to the provider of the environment: MODEL_BASE_URL, else OPENROUTER_API_KEY, else OPENAI_API_KEY. Without any, the
 * demo model is started on loopback and the settings point to it. A process for isolated tools asks no model.
 */
export async function chooseModel(config: Config, cleanUp: AsyncDisposableStack): Promise<ChosenModel> {
  const { ROLE, MODEL_BASE_URL, MODEL_NAME, OPENROUTER_API_KEY, OPENAI_API_KEY } = config.values;
  if (ROLE !== 'api' && !queuesServed(config.values).includes('jobs'))
    return { config, label: 'none: no jobs run here' };
  const named = MODEL_NAME ?? 'its default model';
  if (MODEL_BASE_URL !== undefined) return { config, label: `${named} at ${new URL(MODEL_BASE_URL).host}` };
  if (OPENROUTER_API_KEY !== undefined) return { config, label: `${named} at OpenRouter` };
  if (OPENAI_API_KEY !== undefined) return { config, label: `${named} at OpenAI` };
  const demo = await startDemoModel();
  cleanUp.defer(() => demo.close());
  return {
    config: config.with({ MODEL_BASE_URL: demo.url, MODEL_NAME: MODEL_NAME ?? demo.modelName }),
    label: `${demo.modelName}, a stand-in that answers by rules (for a real one: OPENROUTER_API_KEY, OPENAI_API_KEY or MODEL_BASE_URL)`,
  };
}
