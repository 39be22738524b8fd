import { Cluster, type Command, Redis, ReplyError } from 'ioredis';
import { StoreUnavailable } from '../../ports/event-store.ts';
import { parseRedisUrl, trustOf, type RedisTarget } from './url.ts';
import { must } from '../../domain/must.ts';

export interface RedisConnectionOptions {
  /** One of the forms of `parseRedisUrl`. */
  readonly url: string;
  /** Goes before every key, so that installations can share a server (default `quittance`). */
  readonly prefix?: string;
  /** Bound of one command (default 2,000 ms). */
  readonly commandMs?: number;
  /** Told of every connection fault; the driver reconnects by itself. */
  readonly onError?: (error: Error) => void;
}

/** Commands whose keys are in one slot each; nothing here may ask for more, so that all of it works on a cluster. */
export type RedisClient = Redis | Cluster;

/**
 * Connects, or rejects with `StoreUnavailable`; throws `InvalidRedisUrl`. Commands that get no answer in time reject:
 * nothing waits forever on a stalled server.
 */
export async function connectRedis({
  url,
  commandMs = 2_000,
  onError = () => {},
}: RedisConnectionOptions): Promise<RedisClient> {
  const target = parseRedisUrl(url);
  const redis = target.kind === 'cluster' ? clusterClient(target, commandMs) : serverClient(target, commandMs);
  // The driver's errors carry the failed command with its words, the password of AUTH among them: only their text goes
  // on.
  redis.on('error', (error: unknown) => onError(new Error(messageOf(error))));
  try {
    await bounded(redis.connect(), 2 * commandMs);
    return redis;
  } catch (error) {
    redis.disconnect();
    throw new StoreUnavailable(`Redis did not answer: ${messageOf(error)}`);
  }
}

function commonOptions(target: RedisTarget, commandMs: number) {
  const { username, password } = target;
  const tls = trustOf(target);
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls }),
    lazyConnect: true,
    commandTimeout: commandMs,
    connectTimeout: commandMs,
    // A command whose connection broke has an unknown outcome; repeating it is for the caller, who knows whether that
    // is safe.
    autoResendUnfulfilledCommands: false,
  };
}

/** A server that answered nothing in the time of so many commands is looked for anew. */
const SILENT_COMMANDS = 5;

const retryPause = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt, 6), 2_000);

function serverClient(target: Exclude<RedisTarget, { kind: 'cluster' }>, commandMs: number): Redis {
  const options = {
    ...commonOptions(target, commandMs),
    db: target.db,
    maxRetriesPerRequest: 2,
    retryStrategy: retryPause,
    // A master that became a replica: the next connection is to the new one, also where a name or an address was moved
    // to it.
    reconnectOnError: ({ message }: Error) => message.includes('READONLY'),
    // One whose machine is gone closes nothing: the system would keep the connection for a quarter of an hour.
    socketTimeout: SILENT_COMMANDS * commandMs,
  };
  if (target.kind === 'single') return new Redis({ ...options, ...target.hosts[0] });
  return new Redis({
    ...options,
    name: target.name,
    sentinels: [...target.hosts],
    sentinelCommandTimeout: commandMs,
    sentinelRetryStrategy: retryPause,
    enableTLSForSentinelMode: target.tls,
    ...(target.tls && { sentinelTLS: must(trustOf(target)) }),
    ...(target.sentinelPassword !== undefined && { sentinelPassword: target.sentinelPassword }),
  });
}

function clusterClient(target: Extract<RedisTarget, { kind: 'cluster' }>, commandMs: number): Cluster {
  const cluster = new Cluster([...target.hosts], {
    redisOptions: commonOptions(target, commandMs),
    lazyConnect: true,
    clusterRetryStrategy: retryPause,
    slotsRefreshTimeout: commandMs,
    slotsRefreshInterval: 5_000,
    // As with one server: a broken connection leaves an unknown outcome. Redirections were not carried out and are
    // followed.
    retryDelayOnFailover: 0,
    // Certificates name hosts: these are not to be turned into addresses first.
    ...(target.tls && {
      dnsLookup: (host: string, callback: (error: null, address: string) => void) => callback(null, host),
    }),
  });
  // The driver bounds commands that it has sent; those that wait for a node are bounded here.
  const send = cluster.sendCommand.bind(cluster);
  cluster.sendCommand = (command: Command, ...rest) => {
    command.setTimeout(commandMs);
    return send(command, ...rest);
  };
  return cluster;
}

/** Lets what was sent be answered, then goes. */
export async function disconnectRedis(redis: RedisClient): Promise<void> {
  try {
    await redis.quit();
  } catch {
    redis.disconnect();
  }
}

/** Every failure of the server or the way to it becomes `StoreUnavailable`, without the failed command. */
export async function answered<Value>(command: Promise<Value>): Promise<Value> {
  try {
    return await command;
  } catch (error) {
    const kind = error instanceof ReplyError ? 'Redis refused' : 'Redis did not answer';
    throw new StoreUnavailable(`${kind}: ${messageOf(error)}`);
  }
}

async function bounded<Value>(work: Promise<Value>, ms: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>(
    (_, reject) => (timer = setTimeout(() => reject(new Error(`no connection within ${ms} ms`)), ms)),
  );
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'no reason given');
