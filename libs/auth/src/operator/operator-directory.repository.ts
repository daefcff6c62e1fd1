import pg from 'pg';

import { isRole, type Role } from '../principal.js';

/** A workspace in the list of all. */
export interface ListedWorkspace {
  readonly id: string;
  readonly name: string;
  readonly members: number;
  /** Addresses of its owners. */
  readonly owners: readonly string[];
  /** In ms since the epoch. */
  readonly createdAt: number;
}

/** A user in the list of all. */
export interface ListedUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  /** Whether a token has signed in as this user. */
  readonly signsIn: boolean;
  readonly workspaces: number;
  readonly createdAt: number;
}

/**
 * Reads across workspaces, for the operator only: a connection of the migrating login (DATABASE_URL) that acts as
 * `nightshift_owner`. No serving process has one.
 */
export class OperatorDirectory {
  private constructor(private readonly client: pg.Client) {}

  static async connect(ownerUrl: string): Promise<OperatorDirectory> {
    const client = new pg.Client({
      connectionString: ownerUrl,
      application_name: 'nightshift:admin',
      connectionTimeoutMillis: 10_000,
      statement_timeout: 60_000,
    });
    client.on('error', () => undefined); // a lost connection also rejects the query that is under way
    await client.connect();
    await client.query('SET ROLE nightshift_owner');
    return new OperatorDirectory(client);
  }

  async workspaces(): Promise<ListedWorkspace[]> {
    const { rows } = await this.client.query<Omit<ListedWorkspace, 'createdAt'> & { createdAt: Date }>(`
      SELECT w.id, w.name, w.created_at AS "createdAt", count(m.user_id)::int AS members,
             coalesce(array_agg(u.email ORDER BY u.email) FILTER (WHERE m.role = 'owner'), '{}') AS owners
        FROM workspace w
        LEFT JOIN membership m ON m.workspace_id = w.id
        LEFT JOIN app_user u ON u.id = m.user_id
       GROUP BY w.id ORDER BY w.created_at, w.id`);
    return rows.map((row) => ({ ...row, createdAt: row.createdAt.getTime() }));
  }

  async users(): Promise<ListedUser[]> {
    const { rows } = await this.client.query<Omit<ListedUser, 'createdAt'> & { createdAt: Date }>(`
      SELECT u.id, u.email, u.name, u.issuer IS NOT NULL AS "signsIn", u.created_at AS "createdAt",
             count(m.workspace_id)::int AS workspaces
        FROM app_user u LEFT JOIN membership m ON m.user_id = u.id
       GROUP BY u.id ORDER BY u.created_at, u.id`);
    return rows.map((row) => ({ ...row, createdAt: row.createdAt.getTime() }));
  }

  /** Null: no user has this address. */
  async userIdOf(email: string): Promise<string | null> {
    const { rows } = await this.client.query<{ id: string }>('SELECT id FROM app_user WHERE email = $1', [email]);
    return rows[0]?.id ?? null;
  }

  /** Null: no such workspace, or the user is no member of it. */
  async roleOf(workspaceId: string, userId: string): Promise<Role | null> {
    const values = [workspaceId, userId];
    const sql = 'SELECT role FROM membership WHERE workspace_id = $1 AND user_id = $2';
    const role = (await this.client.query<{ role: string }>(sql, values)).rows[0]?.role;
    return role !== undefined && isRole(role) ? role : null;
  }

  async hasWorkspace(id: string): Promise<boolean> {
    return (await this.client.query('SELECT 1 FROM workspace WHERE id = $1', [id])).rowCount === 1;
  }

  close(): Promise<void> {
    return this.client.end();
  }
}
