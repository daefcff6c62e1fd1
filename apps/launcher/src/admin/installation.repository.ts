import {
  openLoginPrisma,
  openOwnerPrisma,
  resealColumn,
  type Resealed,
  type SealedColumn,
  type SecretBox,
} from '#platform';

/** What the operator asks of the database as a whole, over the migrating login. */
export class InstallationRepository {
  private constructor(
    private readonly ownerUrl: string,
    private readonly login: ReturnType<typeof openLoginPrisma>,
  ) {}

  static async connect(ownerUrl: string): Promise<InstallationRepository> {
    const installation = new InstallationRepository(ownerUrl, openLoginPrisma(ownerUrl));
    await installation.login.$queryRaw`SELECT 1`; // fails here, not in the middle of a command
    return installation;
  }

  /** Whether the serving roles were given a login before: so the database belongs to an installation. */
  async isSetUp(): Promise<boolean> {
    const roles = await this.login.$queryRaw<object[]>`
      SELECT 1 FROM pg_roles WHERE rolname = 'nightshift_api' AND rolcanlogin`;
    return roles.length === 1;
  }

  /** How many connections of serving processes there are. */
  async servingConnections(): Promise<number> {
    const [row] = await this.login.$queryRaw<{ count: number }[]>`
      SELECT count(*)::int AS count FROM pg_stat_activity
       WHERE usename IN ('nightshift_api', 'nightshift_engine', 'nightshift_tools') AND datname = current_database()`;
    return row?.count ?? 0;
  }

  /** Seals every value of these columns with the present secret. */
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
