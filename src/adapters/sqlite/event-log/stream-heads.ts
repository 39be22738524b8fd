import { RecentMap } from '../../../runtime/util/recent-map.ts';
import type { StreamHead } from './append-job.ts';

/** The heads of the most recently written streams, so that appends to them need no look-up. */
export class StreamHeads extends RecentMap<string, StreamHead> {}
