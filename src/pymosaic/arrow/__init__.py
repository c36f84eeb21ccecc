"""Arrow and Mosaic: conversion of types, and of stored values to Arrow scalars."""
