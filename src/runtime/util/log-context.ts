import { AsyncLocalStorage } from 'node:async_hooks';

type LogFacts = Readonly<Record<string, string>>;

const current = new AsyncLocalStorage<Record<string, string>>();

/** Every log line that is written while the work runs carries these facts, whoever writes it. */
export const withLogContext = <Result>(facts: LogFacts, work: () => Result): Result => current.run({ ...facts }, work);

/** Adds to what later lines of the same work carry. Without effect outside of any. */
export const addToLogContext = (facts: LogFacts): void => void Object.assign(current.getStore() ?? {}, facts);

export const logContext = (): LogFacts => current.getStore() ?? {};
