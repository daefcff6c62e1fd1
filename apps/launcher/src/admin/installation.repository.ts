import {
  openLoginPrisma,
  openOwnerPrisma,
  resealColumn,
  type Resealed,
  type SealedColumn,
  type SecretBox,
} from '#platform';

/** Statements of the operator on the whole database, over the login that migrates. */
export class InstallationRepository {
  private constructor(
    private readonly ownerUrl: string,
    private readonly login: ReturnType<typeof openLoginPrisma>,
  ) {}

  static async connect(ownerUrl: string): Promise<InstallationRepository> {
    const installation = new InstallationRepository(ownerUrl, openLoginPrisma(ownerUrl));
    await installation.login.$queryRaw`SELECT 1`; // an unusable login fails here, not in the middle of a command
    return installation;
  }

  /** Whether the serving roles already have a login; if so, the database belongs to an installation. */
  async isSetUp(): Promise<boolean> {
    const roles = await this.login.$queryRaw<object[]>`
      SELECT 1 FROM pg_roles WHERE rolname = 'nightshift_api' AND rolcanlogin`;
    return roles.length === 1;
  }

  /** The number of connections of serving processes. */
  async servingConnections(): Promise<number> {
    const [row] = await this.login.$queryRaw<{ count: number }[]>`
      SELECT count(*)::int AS count FROM pg_stat_activity
       WHERE usename IN ('nightshift_api', 'nightshift_engine', 'nightshift_tools') AND datname = current_database()`;
    return row?.count ?? 0;
  }

  /** Encrypts every value of these columns again, with the current secret. */
  async reseal(columns: readonly (readonly [SealedColumn, SecretBox])[]): Promise<Resealed[]> {
    const owner = openOwnerPrisma(this.ownerUrl);
    try {
      const done: Resealed[] = [];
      for (const [column, box] of columns) done.push(await resealColumn(owner, box, column));
      return done;
    } finally {
      await owner.$disconnect();
    }
  }

  close(): Promise<void> {
    return this.login.$disconnect();
  }
}
