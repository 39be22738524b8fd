import { Cluster, type Command, Redis, ReplyError } from 'ioredis';
import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import { parseRedisUrl, trustOf, type RedisTarget } from './url.ts';
import { must } from '../../domain/values/must.ts';
import { within } from '../../runtime/util/within.ts';

export interface RedisConnectionOptions {
  /** One of the forms that `parseRedisUrl` accepts. */
  readonly url: string;
  /** Prefix of every key, so that installations can share a server (default `quittance`). */
  readonly prefix?: string;
  /** Time limit of one command (default 2,000 ms). */
  readonly commandMs?: number;
  /** Called with every connection fault; the driver reconnects by itself. */
  readonly onError?: (error: Error) => void;
}

/** Every command must have its keys in one slot, so that everything works on a cluster. */
export type RedisClient = Redis | Cluster;

/**
 * Connects, or rejects with `StoreUnavailable`; throws `InvalidRedisUrl`. Commands without a timely answer reject:
 * nothing waits forever on a stalled server.
 */
export async function connectRedis({
  url,
  commandMs = 2_000,
  onError = () => {},
}: RedisConnectionOptions): Promise<RedisClient> {
  const target = parseRedisUrl(url);
  const redis = target.kind === 'cluster' ? clusterClient(target, commandMs) : serverClient(target, commandMs);
  // The driver's errors contain the failed command, including the password of AUTH. Only their message is passed on.
  redis.on('error', (error: unknown) => onError(new Error(messageOf(error))));
  try {
    await within(2 * commandMs, redis.connect(), () => {
      throw new Error(`no connection within ${2 * commandMs} ms`);
    });
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
    // A command whose connection broke has an unknown outcome. Only the caller knows whether repeating it is safe.
    autoResendUnfulfilledCommands: false,
  };
}

/** After the time of this many unanswered commands the connection is replaced. */
const SILENT_COMMANDS = 5;

const retryPause = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt, 6), 2_000);

function serverClient(target: Exclude<RedisTarget, { kind: 'cluster' }>, commandMs: number): Redis {
  const options = {
    ...commonOptions(target, commandMs),
    db: target.db,
    maxRetriesPerRequest: 2,
    retryStrategy: retryPause,
    // The master became a replica. Reconnecting finds the new master, even where a name or an address was moved to it.
    reconnectOnError: ({ message }: Error) => message.includes('READONLY'),
    // A crashed machine closes no connection; the system would keep it for a quarter of an hour.
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
    // As with one server, a broken connection leaves an unknown outcome. Redirections were not executed and are
    // followed.
    retryDelayOnFailover: 0,
    // Certificates contain host names, so these must not be resolved to addresses first.
    ...(target.tls && {
      dnsLookup: (host: string, callback: (error: null, address: string) => void) => callback(null, host),
    }),
  });
  // The driver limits only commands that were sent; those that wait for a node are limited here.
  const send = cluster.sendCommand.bind(cluster);
  cluster.sendCommand = (command: Command, ...rest) => {
    command.setTimeout(commandMs);
    return send(command, ...rest);
  };
  return cluster;
}

/** Lets sent commands finish, then disconnects. */
export async function disconnectRedis(redis: RedisClient): Promise<void> {
  try {
    await redis.quit();
  } catch {
    redis.disconnect();
  }
}

/** Turns every failure of the server or the connection into `StoreUnavailable`, without the failed command. */
export async function answered<Value>(command: Promise<Value>): Promise<Value> {
  try {
    return await command;
  } catch (error) {
    const kind = error instanceof ReplyError ? 'Redis refused' : 'Redis did not answer';
    throw new StoreUnavailable(`${kind}: ${messageOf(error)}`);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'no reason given');
