import { EventStoreDBClient } from '@eventstore/db-client';

/** As the server says it, in the features that it names to clients. */
export async function serverVersion(connectionString: string): Promise<string> {
  const client = EventStoreDBClient.connectionString(connectionString);
  const { capabilities } = client as unknown as { readonly capabilities: Promise<{ readonly serverVersion: string }> };
  try {
    return (await capabilities).serverVersion;
  } finally {
    await client.dispose();
  }
}

/** Under the name that it had then. */
export const serverName = (version: string): string =>
  `${Number.parseInt(version, 10) >= 25 ? 'KurrentDB' : 'EventStoreDB'} ${version}`;
