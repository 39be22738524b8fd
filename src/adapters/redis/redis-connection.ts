import { Redis, ReplyError } from 'ioredis';
import { StoreUnavailable } from '../../ports/event-store.ts';

export interface RedisConnectionOptions {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
  readonly url: string;
  /** Goes before every key, so that installations can share a server (default `quittance`). */
  readonly prefix?: string;
  /** Bound of one command (default 2,000 ms). */
  readonly commandMs?: number;
  /** Told of every connection fault; the driver reconnects by itself. */
  readonly onError?: (error: Error) => void;
}

/** Connects, or rejects with `StoreUnavailable`. Commands that get no answer in time reject: nothing waits for ever on a stalled server. */
export async function connectRedis({ url, commandMs = 2_000, onError = () => {} }: RedisConnectionOptions): Promise<Redis> {
  const redis = new Redis(url, {
    lazyConnect: true,
    commandTimeout: commandMs,
    connectTimeout: commandMs,
    maxRetriesPerRequest: 2,
    // A command whose connection broke has an unknown outcome; repeating it is for the caller, who knows whether that is safe.
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 6), 2_000),
  });
  // The driver's errors carry the failed command with its words, the password of AUTH among them: only their text goes on.
  redis.on('error', (error) => onError(new Error(messageOf(error))));
  try {
    await redis.connect();
    return redis;
  } catch (error) {
    redis.disconnect();
    throw new StoreUnavailable(`Redis did not answer: ${messageOf(error)}`);
  }
}

/** Lets what was sent be answered, then goes. */
export async function disconnectRedis(redis: Redis): Promise<void> {
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

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'no reason given');
