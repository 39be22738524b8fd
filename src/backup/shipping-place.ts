import { existsSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { folderObjects } from '../adapters/node/folder-objects.ts';
import { s3Objects } from '../adapters/s3/s3-objects.ts';
import { InvalidConfig, type Config } from '../config.ts';
import type { ObjectStore } from '../ports/event-log/object-store.ts';
import { isLoopbackHost } from '../runtime/http/loopback-request.ts';
import { SHIPPED_MARK } from './shipped-mark.ts';
import { must } from '../domain/values/must.ts';

const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9._/-]*))?$/;

/** Faults in the shipping settings, in words for the operator. */
export function shippingFaults(config: Config): string[] {
  const { LOG_SHIPPING_TO: to, DATA_DIR: dataDir } = config;
  if (to === undefined) return [];
  if (config.EVENTSTORE_URL !== undefined)
    return [
      'LOG_SHIPPING_TO is for the embedded store: here the event log is on servers, which replicate it and have their own backups',
    ];
  if (to.startsWith('s3:')) return s3Faults(config, to);
  if (!isAbsolute(to)) return ['LOG_SHIPPING_TO must be an absolute path or s3://bucket/prefix'];
  const isInside = (directory: string): boolean => !relative(directory, to).startsWith('..');
  return isInside(dataDir) ? ['LOG_SHIPPING_TO must be outside DATA_DIR, ideally on another machine'] : [];
}

function s3Faults(config: Config, to: string): string[] {
  if (!BUCKET.test(to))
    return ['LOG_SHIPPING_TO must be s3://bucket/prefix, with letters, digits, dots, hyphens, underscores and slashes'];
  const { protocol, hostname } = new URL(config.LOG_SHIPPING_S3_ENDPOINT ?? 'https://localhost');
  if (protocol !== 'https:' && !isLoopbackHost(hostname))
    return [
      'LOG_SHIPPING_S3_ENDPOINT must be https: it receives salts of personal data, and an attacker in between could replace what is restored',
    ];
  const missing = (['LOG_SHIPPING_S3_ACCESS_KEY_ID', 'LOG_SHIPPING_S3_SECRET_ACCESS_KEY'] as const).filter(
    (name) => config[name] === undefined,
  );
  return missing.map((name) => `${name} is missing: LOG_SHIPPING_TO names a bucket`);
}

/** Null if nothing is shipped. Throws `InvalidConfig`. */
export function shippingPlace(config: Config): ObjectStore | null {
  return config.LOG_SHIPPING_TO === undefined ? null : placeAt(config.LOG_SHIPPING_TO, config);
}

/** A shipped log named by a person; null for another kind of folder, such as a backup. Throws `InvalidConfig`. */
export function shippedPlace(from: string, config: Config): ObjectStore | null {
  if (from.startsWith('s3:')) return placeAt(from, config);
  return existsSync(join(from, SHIPPED_MARK)) ? folderObjects(from) : null;
}

function placeAt(to: string, config: Config): ObjectStore {
  const faults = to.startsWith('s3:') ? s3Faults(config, to) : shippingFaults(config);
  if (faults.length > 0) throw new InvalidConfig(faults.join('\n'));
  if (!to.startsWith('s3:')) return folderObjects(to);
  const [, bucket = '', prefix = ''] = must(BUCKET.exec(to));
  const { LOG_SHIPPING_S3_REGION: region, LOG_SHIPPING_S3_ENDPOINT: endpoint } = config;
  return s3Objects({
    endpoint: endpoint ?? `https://s3.${region}.amazonaws.com`,
    bucket,
    prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`,
    credentials: {
      region,
      accessKeyId: must(config.LOG_SHIPPING_S3_ACCESS_KEY_ID),
      secretAccessKey: must(config.LOG_SHIPPING_S3_SECRET_ACCESS_KEY),
    },
  });
}
