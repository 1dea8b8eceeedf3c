/** The permits of the workers' semaphore, and the readers of their read-write lock, where a writer takes all. */
export const PERMITS = 3;
/** The rate limit: starts in any window of this many milliseconds. */
export const LIMIT = 10;
export const INTERVAL = 500;
