/** The permits of the workers' semaphore, and the readers of their read-write lock, where a writer takes all. */
export const PERMITS = 3;
