import { withAdminClient } from './admin-client.js';

/** Why a tool process cannot use a database, as a sentence that names the next step. */
export interface ToolDatabaseProblem {
  readonly text: string;
  readonly cause?: unknown;
}

/** Invalid password and unknown role. */
const WRONG_LOGIN: readonly unknown[] = ['28P01', '28000'];

/**
 * Checks whether the database has the objects that the migrations of this build create for tool processes, and accepts the login. Null: no
 * problem.
 */
export async function toolDatabaseProblem(databaseUrl: string): Promise<ToolDatabaseProblem | null> {
  try {
    return await withAdminClient({ url: databaseUrl, applicationName: 'nightshift:tools' }, async (client) => {
      const { rows } = await client.query<{ there: boolean }>(
        "SELECT to_regclass('tool_process.claimed_call') IS NOT NULL AS there",
      );
      return rows[0]?.there === true ? null : { text: NOT_MIGRATED };
    });
  } catch (cause) {
    const code: unknown = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (WRONG_LOGIN.includes(code)) return { text: LOGIN_REFUSED, cause };
    return { text: `${cause instanceof Error ? cause.message : String(cause)}.`, cause };
  }
}

const NOT_MIGRATED = 'start an API or worker process of this version first, which prepares the database.';
const LOGIN_REFUSED =
  'it refuses the login nightshift_tools. Start an API or worker process of this version first, and check that NIGHTSHIFT_TOOLS_KEY was derived from its present secret.';
